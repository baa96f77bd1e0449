// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/examples/mnist_trainer.hpp"

#include "tests/support/ranks.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace muster::worker {
namespace {

// Trains until `options.epochs` and gives the parameters' digest; "stopped" where it was asked to.
Result<std::string> train(Session& session, MnistOptions const& options) {
  MUSTER_TRY(auto const trainer, Trainer::make(session, options));
  MUSTER_TRY(auto progress, trainer->resume());
  while (trainer->epoch() < options.epochs) {
    MUSTER_TRY(auto const loss, trainer->train_epoch(progress));
    if (!loss) {
      MUSTER_TRY(auto const end, trainer->stop(progress));
      return std::string(end == End::stopped_saved ? "stopped, saved" : "stopped, not saved");
    }
    MUSTER_CHECK(trainer->save());
  }
  return trainer->digest();
}

std::string train_on(int size, MnistOptions const& options) {
  auto const answers =
      test::on_ranks(size, [&](Session& session) { return train(session, options); });
  for (auto const& answer : answers) {
    INFO((answer ? "" : answer.error().what));
    REQUIRE(answer);
    CHECK(*answer == *answers[0]);
  }
  return *answers[0];
}

// What RowLog wrote into the folder, all ranks together: samples by (epoch, step).
std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::int64_t>> rows_of(
    std::string const& folder) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::int64_t>> taken;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::uint64_t epoch = 0, step = 0;
      words >> epoch >> step;
      auto& samples = taken[{epoch, step}];
      for (std::int64_t row = 0; words >> row;) samples.push_back(row);
    }
  }
  return taken;
}

MnistOptions options_for(std::int64_t epochs) {
  MnistOptions options;
  options.epochs = epochs;
  options.batch = 200;  // few steps, and an uneven last one
  return options;
}

}  // namespace

TEST_CASE("W workers train to the bits of one process that simulates W", "[examples]") {
  auto const size = GENERATE(2, 4);
  auto options = options_for(1);
  auto const real = train_on(size, options);
  options.simulate_world = size;
  CHECK(train_on(1, options) == real);
}

TEST_CASE("a resumed training ends with the bits of an uninterrupted one", "[examples]") {
  test::TempFolder const folder;
  auto const uninterrupted = train_on(2, options_for(3));
  auto options = options_for(1);
  options.checkpoint = folder.path();
  train_on(2, options);
  options.epochs = 3;
  CHECK(train_on(2, options) == uninterrupted);
}

TEST_CASE("with a global batch too W workers train to the bits of one process", "[examples]") {
  auto options = options_for(1);
  options.global_batch = 1999;  // uneven parts; the last step has 1,004 samples
  auto const real = train_on(3, options);
  options.simulate_world = 3;
  CHECK(train_on(1, options) == real);
}

TEST_CASE("a job that grows and shrinks takes each step's samples once", "[examples]") {
  test::TempFolder const folder, rows;
  auto options = options_for(0);
  options.global_batch = 1997;  // 4 steps of 1,997 and one of 1,012
  options.checkpoint = folder.path();
  std::string const logs[] = {rows / "1", rows / "4", rows / "3", rows / "2"};
  for (auto const& log : logs) {
    options.rows_to = log;
    ++options.epochs;
    train_on(log.back() - '0', options);
  }
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    auto const taken = rows_of(logs[epoch]);
    REQUIRE(taken.size() == 5);
    std::set<std::int64_t> all;
    std::uint64_t step = 5 * epoch;
    for (auto const& [place, samples] : taken) {
      CHECK(place == std::pair(epoch, step++));
      CHECK(samples.size() == (step % 5 == 0 ? 1012 : 1997));
      all.insert(samples.begin(), samples.end());
    }
    CHECK(all.size() == 9000);
  }
}

TEST_CASE("ranks that are asked to stop save together and go on from there", "[examples]") {
  test::TempFolder const folder;
  auto options = options_for(2);
  options.checkpoint = folder.path();
  auto const answers = test::on_ranks(2, [&](Session& session) {
    if (session.rank() == 1) session.request_stop();  // one of them is enough
    return train(session, options);
  });
  for (auto const& answer : answers) {
    REQUIRE(answer);
    CHECK(*answer == "stopped, saved");
  }
  CHECK(train_on(2, options) == train_on(2, options_for(2)));
}

TEST_CASE("the score counts every test digit once, whatever the number of ranks", "[examples]") {
  auto const score = [](int size) {
    return test::on_ranks(size, [](Session& session) -> Result<double> {
      MUSTER_TRY(auto const trainer, Trainer::make(session, options_for(1)));
      return trainer->evaluate();  // of the initial weights, which are the same
    });
  };
  auto const one = score(1);
  REQUIRE(one[0]);
  for (auto const& each : score(3)) {
    REQUIRE(each);
    CHECK(*each == *one[0]);
  }
}

}  // namespace muster::worker
