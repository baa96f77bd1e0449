// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/save.hpp"

#include "rendezvous/base/unique_fd.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temp_folder.hpp"
#include "worker_runtime/checkpoint/directory.hpp"
#include "worker_runtime/checkpoint/load.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <fstream>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace muster::worker {
namespace {

TrainState state_at(std::uint64_t step) {
  auto const filled = [&](Shape shape, float first) {
    auto tensor = Tensor::zeros(shape);
    for (auto& value : tensor.as<float>()) value = (first += 0.25F) + static_cast<float>(step);
    return tensor;
  };
  TrainState state;
  state.model = {{"0.weight", filled(Shape{3, 5}, 1)}, {"0.bias", filled(Shape{3}, 2)}};
  state.optimizer = {{"0.weight.exp_avg", filled(Shape{3, 5}, 3)}};
  state.trainer.step = step;
  state.trainer.schedule["lr"] = 0.1;
  return state;
}

bool same(TrainState const& a, TrainState const& b) {
  auto const equal = [](std::vector<NamedTensor> const& left,
                        std::vector<NamedTensor> const& right) {
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!std::ranges::equal(left[i].tensor.as<float>(), right[i].tensor.as<float>()))
        return false;
    return left.size() == right.size();
  };
  return equal(a.model, b.model) && equal(a.optimizer, b.optimizer) && a.trainer == b.trainer;
}

// What each of `size` ranks got from saving `make(rank)`.
template <class Make>
std::vector<Result<Saved>> save_on(int size, std::string const& root, Make make,
                                   SaveOptions options = {}) {
  return test::on_ranks(size, [&](Session& session) {
    return save(session.world(), make(session.rank()), root, options);
  });
}

std::uint64_t newest_step(std::string const& root) {
  auto const steps = list_steps(root);
  REQUIRE(steps);
  REQUIRE_FALSE(steps->empty());
  return steps->front().step;
}

}  // namespace

TEST_CASE("every rank gets the path of one complete checkpoint", "[checkpoint]") {
  test::TempFolder const root;
  auto const size = GENERATE(1, 3);
  auto const saved = save_on(size, root.path(), [](int) { return state_at(7); });
  for (auto const& each : saved) {
    REQUIRE(each);
    CHECK(each->path == (root / "step-00000007").string());
  }
  for (auto const* name :
       {"manifest.json", "trainer.json", "shard-00001-model-00001-of-00001.safetensors",
        "shard-00001-optim-00001-of-00001.safetensors"})
    CHECK(std::filesystem::exists(root / "step-00000007" / name));
}

TEST_CASE("old checkpoints go when a new one is complete", "[checkpoint]") {
  test::TempFolder const root;
  for (std::uint64_t step = 1; step <= 4; ++step)
    REQUIRE(save_on(1, root.path(), [&](int) { return state_at(step); }, {.keep = 2}).front());
  auto const steps = list_steps(root.path());
  REQUIRE(steps);
  CHECK(steps->size() == 2);
  CHECK(newest_step(root.path()) == 4);
}

TEST_CASE("ranks at different steps do not save together, and all learn it", "[checkpoint]") {
  test::TempFolder const root;
  auto const saved = save_on(3, root.path(), [](int rank) { return state_at(rank == 2 ? 8 : 7); });
  for (auto const& each : saved) {
    REQUIRE_FALSE(each);
    CHECK(each.error().code == Errc::mismatch);
    CHECK(each.error().what.find("rank 2 saves another step") != std::string::npos);
  }
  CHECK(list_steps(root.path())->empty());
}

TEST_CASE("a writer that fails leaves the older checkpoint, nothing aside, and one error for all",
          "[checkpoint]") {
  test::TempFolder const root;
  REQUIRE(save_on(1, root.path(), [](int) { return state_at(1); }).front());
  auto const saved = save_on(2, root.path(), [](int) {
    auto state = state_at(2);  // the tensors are written before this number is refused
    state.trainer.schedule["lr"] = std::numeric_limits<double>::infinity();
    return state;
  });
  for (auto const& each : saved) {
    REQUIRE_FALSE(each);
    CHECK(each.error().what.starts_with("checkpoint not saved: rank 0: "));
  }
  CHECK(newest_step(root.path()) == 1);
  CHECK(std::distance(std::filesystem::directory_iterator(root.path()), {}) == 1);
}

TEST_CASE("a disk that takes no more bytes is an error on all ranks", "[checkpoint]") {
  test::TempFolder const root;
  REQUIRE(save_on(1, root.path(), [](int) { return state_at(1); }).front());
  // A file size limit stands in for a full disk: the write fails in its middle.
  auto const old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit const tight{100, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  auto const saved = save_on(2, root.path(), [](int) { return state_at(2); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, old_action);
  for (auto const& each : saved) {
    REQUIRE_FALSE(each);
    CHECK(each.error().what.find("model-00001-of-00001.safetensors") != std::string::npos);
  }
  CHECK(newest_step(root.path()) == 1);
  CHECK(std::distance(std::filesystem::directory_iterator(root.path()), {}) == 1);
}

TEST_CASE("a root that cannot be made is an error on all ranks", "[checkpoint]") {
  test::TempFolder const root;
  std::ofstream(root / "file") << "x";
  auto const saved =
      save_on(2, (root / "file").string() + "/below", [](int) { return state_at(1); });
  for (auto const& each : saved) REQUIRE_FALSE(each);
  CHECK(saved[0].error() == saved[1].error());
}

TEST_CASE("whenever a saver is killed, a whole checkpoint is left", "[checkpoint]") {
  test::TempFolder const root;
  REQUIRE(save_on(1, root.path(), [](int) { return state_at(1); }).front());
  for (int round = 0; round < 4; ++round) {
    auto progress = make_pipe();
    REQUIRE(progress);
    auto const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      auto sessions = Session::threads(1);
      for (std::uint64_t step = 2; ::write(progress->write_end.get(), "s", 1) == 1; ++step)
        if (!save(sessions[0].world(), state_at(step % 5 + 1), root.path(), {.keep = 3})) break;
      ::_exit(1);
    }
    // Some saves later, and then at any moment: the claim holds for all of them.
    char began = 0;
    for (int saves = 0; saves < 1 + round; ++saves)
      REQUIRE(::read(progress->read_end.get(), &began, 1) == 1);
    for (int spin = 0; spin < 200 * round; ++spin) std::this_thread::yield();
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    auto loaded_state = state_at(0);
    auto const loaded = test::on_ranks(1, [&](Session& session) {
      return load_latest(session.world(), loaded_state, root.path());
    });
    REQUIRE(loaded.front());
    CHECK(loaded.front()->skipped.empty());
    CHECK(same(loaded_state, state_at(loaded_state.trainer.step)));
  }
}

}  // namespace muster::worker
