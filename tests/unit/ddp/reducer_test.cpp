// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/reducer.hpp"

#include "tests/support/ranks.hpp"
#include "tests/support/small_net.hpp"
#include "worker_runtime/core/fingerprint.hpp"
#include "worker_runtime/ddp/parallelize.hpp"
#include "worker_runtime/ddp/simulated_world.hpp"
#include "worker_runtime/optim/adam.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace muster::worker {
namespace {

constexpr BucketLimits kSmall{100, 400};  // several buckets in a small net
constexpr std::uint64_t kSteps = 6;

// Uneven on purpose: rank r's batch of step s.
std::int64_t rows_of(std::uint64_t step, int rank) {
  return 4 + (static_cast<std::int64_t>(step) * 3 + rank * 5) % 7;
}

std::string digest(Module& net) {
  Fingerprint print;
  for (auto const* param : net.parameters()) print.add(param->value());
  return print.hex();
}

// Trains on this rank and gives the parameters' digest after each step.
Result<std::vector<std::string>> train(ProcessGroup& group, int rank) {
  test::SmallNet model;
  MUSTER_TRY(auto const parallel, parallelize(model.net, group, {.seed = 5, .buckets = kSmall}));
  Adam adam;
  std::vector<std::string> digests;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    auto const rows = rows_of(step, rank);
    parallel->begin({.local_weight = static_cast<double>(rows), .step = step});
    MUSTER_TRY(auto const loss,
               test::backward(model.net, *parallel, test::small_batch(step, rank, rows)));
    (void)loss;
    MUSTER_CHECK(parallel->finish());
    MUSTER_CHECK(adam.step(*parallel, 1e-2));
    digests.push_back(digest(model.net));
  }
  return digests;
}

Result<std::vector<std::string>> train_simulated(int size) {
  test::SmallNet model;
  materialize(model.net, 5);
  auto const parallel = simulate_world(model.net.parameters(), size);
  Adam adam;
  std::vector<std::string> digests;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    for (int rank = 0; rank < size; ++rank) {
      auto const rows = rows_of(step, rank);
      parallel->begin(
          {.sync = rank == size - 1, .local_weight = static_cast<double>(rows), .step = step});
      MUSTER_TRY(auto const loss,
                 test::backward(model.net, *parallel, test::small_batch(step, rank, rows)));
      (void)loss;
    }
    MUSTER_CHECK(parallel->finish());
    MUSTER_CHECK(adam.step(*parallel, 1e-2));
    digests.push_back(digest(model.net));
  }
  return digests;
}

std::vector<float> gradients(Module& net) {
  std::vector<float> all;
  for (auto const* param : net.parameters()) {
    auto const grad = param->grad().as<float>();
    all.insert(all.end(), grad.begin(), grad.end());
  }
  return all;
}

// One window of `backwards` on each of two ranks, sync at the last; then the gradients.
std::vector<float> window_of(int backwards, std::uint64_t first_step) {
  auto const answers = test::on_ranks(2, [&](Session& session) {
    test::SmallNet model;
    auto const parallel = parallelize(model.net, session.world(), {.seed = 5, .buckets = kSmall});
    for (int round = 0; round < 2; ++round) {  // the second one overlaps, with the plan adopted
      for (int i = 0; i < backwards; ++i) {
        (*parallel)->begin({.sync = i == backwards - 1, .local_weight = 8.0});
        auto const step = first_step + static_cast<std::uint64_t>(i);
        if (!test::backward(model.net, **parallel, test::small_batch(step, session.rank(), 8)))
          return std::vector<float>{};
      }
      if (!(*parallel)->finish()) return std::vector<float>{};
    }
    return gradients(model.net);
  });
  CHECK(answers[0] == answers[1]);
  return answers[0];
}

// A net whose second head only some ranks use.
struct TwoHeads {
  class Net final : public Module {
   public:
    Net() {
      child("first", first);
      child("second", second);
    }
    Linear first{test::kInputs, test::kClasses}, second{test::kInputs, test::kClasses};
    bool use_second = false;

   private:
    Var forward(Tape& tape, Var in) override {
      return use_second ? second(tape, in) : first(tape, in);
    }
  } net;
};

// Passes everything on and notes the sites of what was submitted.
class NotingGroup final : public ProcessGroup {
 public:
  explicit NotingGroup(ProcessGroup& inner) : inner_(inner) {}
  GroupShape shape() const override { return inner_.shape(); }
  Work submit(std::span<Collective const> operations) override {
    for (auto const& each : operations) sites.emplace_back(each.site == nullptr ? "" : each.site);
    return inner_.submit(operations);
  }
  Result<std::shared_ptr<Storage>> alloc(std::size_t bytes, Device device) override {
    return inner_.alloc(bytes, device);
  }
  Result<std::shared_ptr<ProcessGroup>> split(int color, int key) override {
    return inner_.split(color, key);
  }
  void abort(Reason reason) noexcept override { inner_.abort(std::move(reason)); }

  std::vector<std::string> sites;

 private:
  ProcessGroup& inner_;
};

// Every rank's error of a window in which `spoil` changes the batch.
template <class Spoil>
std::vector<Result<void>> spoiled_window(Spoil spoil, double weight = 8.0) {
  return test::on_ranks(3, [&](Session& session) -> Result<void> {
    test::SmallNet model;
    MUSTER_TRY(auto const parallel,
               parallelize(model.net, session.world(), {.seed = 5, .buckets = kSmall}));
    for (std::uint64_t step = 0; step < 3; ++step) {
      auto batch = test::small_batch(step, session.rank(), 8);
      if (step == 2) spoil(session.rank(), batch, model.net);
      parallel->begin({.local_weight = step == 2 ? weight : 8.0, .step = step});
      MUSTER_TRY(auto const loss, test::backward(model.net, *parallel, batch));
      (void)loss;
      if (auto finished = parallel->finish(); !finished)
        return parallel->finished() ? Error{Errc::internal, "finished", ""} : finished.error();
    }
    return ok();
  });
}

}  // namespace

TEST_CASE("N ranks give the bits of one process that adds N micro-batches in tree order",
          "[ddp][property7]") {
  auto const size = GENERATE(1, 2, 3, 4, 5);
  auto const reference = train_simulated(size);
  REQUIRE(reference);
  auto const ranks =
      test::on_ranks(size, [](Session& session) { return train(session.world(), session.rank()); });
  for (auto const& digests : ranks) {
    REQUIRE(digests);
    CHECK(*digests == *reference);
  }
}

TEST_CASE("buckets are planned once, from the first backward, alike on all ranks",
          "[ddp][property8]") {
  auto const plans = test::on_ranks(3, [](Session& session) {
    test::SmallNet model;
    auto const parallel = parallelize(model.net, session.world(), {.buckets = {100, 400}});
    auto& reducer = dynamic_cast<Reducer&>(**parallel);
    std::vector<std::uint64_t> prints;
    for (std::uint64_t step = 0; step < 3; ++step) {
      reducer.begin({.local_weight = 4.0});
      (void)test::backward(model.net, reducer, test::small_batch(step, session.rank(), 4))
          .has_value();
      if (!reducer.finish()) return prints;
      prints.push_back(reducer.plan().fingerprint());
    }
    // The last layer's gradients are ready first.
    if (reducer.plan().buckets.size() < 3 || reducer.plan().buckets[0].params[0] < 2)
      prints.clear();
    return prints;
  });
  REQUIRE(plans[0].size() == 3);
  CHECK(plans[0] == std::vector<std::uint64_t>(3, plans[0][0]));
  CHECK(plans[1] == plans[0]);
  CHECK(plans[2] == plans[0]);
}

TEST_CASE("buckets leave while backward runs, in plan order, the weight before them", "[ddp]") {
  auto sessions = Session::threads(1);
  NotingGroup group(sessions[0].world());
  TwoHeads model;
  auto const parallel = parallelize(model.net, group, {.buckets = {4, 4}});  // one a parameter
  REQUIRE(parallel);
  auto const params = model.net.parameters();
  (*parallel)->begin({.local_weight = 1.0});
  for (auto const i : {3, 2, 1, 0}) (*parallel)->ready(*params[static_cast<std::size_t>(i)]);
  REQUIRE((*parallel)->finish());

  (*parallel)->begin({.local_weight = 1.0});
  auto const sent_after = [&](std::size_t i) {
    group.sites.clear();
    (*parallel)->ready(*params[i]);
    return group.sites.size();
  };
  CHECK(sent_after(2) == 0);  // bucket 0 holds parameter 3
  CHECK(sent_after(0) == 0);
  CHECK(sent_after(3) == 3);
  CHECK(group.sites == std::vector<std::string>{"weight of the window", "gradients", "gradients"});
  CHECK(sent_after(1) == 2);
  group.sites.clear();
  REQUIRE((*parallel)->finish());
  CHECK(group.sites.empty());
}

TEST_CASE("bucket sizes that differ between ranks are an error, not a hang", "[ddp]") {
  auto const outcomes = test::on_ranks(2, [](Session& session) -> Result<void> {
    test::SmallNet model;
    MUSTER_TRY(auto const parallel, parallelize(model.net, session.world(),
                                                {.buckets = {100 + 4000 * session.rank(), 400}}));
    parallel->begin({.local_weight = 4.0});
    MUSTER_TRY(auto const loss,
               test::backward(model.net, *parallel, test::small_batch(0, session.rank(), 4)));
    (void)loss;
    return parallel->finish();
  });
  for (auto const& outcome : outcomes) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().what.find("rank 1 packs gradients otherwise") != std::string::npos);
  }
}

TEST_CASE("backwards without sync accumulate and are sent with the window's last", "[ddp]") {
  auto const together = window_of(3, 10);
  std::vector<float> sum(together.size(), 0.0F);
  for (std::uint64_t step = 10; step < 13; ++step) {
    auto const alone = window_of(1, step);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += alone[i] / 3.0F;
  }
  REQUIRE_FALSE(together.empty());
  for (std::size_t i = 0; i < sum.size(); ++i) CHECK(together[i] == Approx(sum[i]).margin(1e-6));
}

TEST_CASE("an optimizer step before finish() is refused", "[ddp]") {
  auto const refused = test::on_ranks(2, [](Session& session) {
    test::SmallNet model;
    auto const parallel = parallelize(model.net, session.world());
    Adam adam;
    (*parallel)->begin({.sync = false, .local_weight = 4.0});
    (void)test::backward(model.net, **parallel, test::small_batch(0, 0, 4)).has_value();
    auto const finished = (*parallel)->finish();
    return finished.has_value() && !adam.step(**parallel, 0.1).has_value();
  });
  CHECK(refused[0]);
  CHECK(refused[1]);
}

TEST_CASE("a parameter unused on one rank, or on all, counts as zero", "[ddp]") {
  auto const second_by = GENERATE(0, 1, 2);  // ranks below it use the second head
  auto const answers = test::on_ranks(2, [&](Session& session) {
    TwoHeads model;
    auto const parallel = parallelize(model.net, session.world(), {.seed = 5, .buckets = kSmall});
    std::vector<float> grads;
    for (int round = 0; round < 2; ++round) {
      model.net.use_second = session.rank() < second_by;
      (*parallel)->begin({.local_weight = 4.0});
      (void)test::backward(model.net, **parallel, test::small_batch(1, session.rank(), 4))
          .has_value();
      if (!(*parallel)->finish()) return std::vector<float>{};
      auto const now = gradients(model.net);
      if (round == 1 && now != grads) return std::vector<float>{};  // before and with the plan
      grads = now;
    }
    return grads;
  });
  REQUIRE_FALSE(answers[0].empty());
  CHECK(answers[0] == answers[1]);
  auto const half = answers[0].begin() + static_cast<std::ptrdiff_t>(answers[0].size() / 2);
  auto const nonzero = [](float value) { return value != 0.0F; };
  CHECK(std::any_of(answers[0].begin(), half, nonzero) == (second_by < 2));
  CHECK(std::any_of(half, answers[0].end(), nonzero) == (second_by > 0));
}

TEST_CASE("a loss that is not finite stops all ranks with its step and rank", "[ddp]") {
  auto const outcomes = spoiled_window([](int rank, test::SmallBatch& batch, Module&) {
    if (rank == 1) batch.inputs.as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  });
  for (auto const& outcome : outcomes) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == Errc::non_finite);
    CHECK(outcome.error().what.starts_with("step 2, rank 1: the loss is "));
  }
}

TEST_CASE("a gradient that is not finite stops all ranks and is named", "[ddp]") {
  auto const outcomes = test::on_ranks(3, [](Session& session) -> Result<void> {
    TwoHeads model;
    MUSTER_TRY(auto const parallel, parallelize(model.net, session.world(), {.buckets = kSmall}));
    for (std::uint64_t step = 0; step < 3; ++step) {
      parallel->begin({.local_weight = 4.0, .step = step});
      // A hand-written backward: the same calls without a tape.
      for (auto* const param : model.net.parameters()) {
        auto const grad = param->grad().as<float>();
        std::fill(grad.begin(), grad.end(), 1.0F);
        if (step == 2 && session.rank() > 0 && param->spec().name == "second.weight")
          grad[1] = std::numeric_limits<float>::infinity();
        parallel->ready(*param);
      }
      MUSTER_CHECK(parallel->finish());
    }
    return ok();
  });
  for (auto const& outcome : outcomes) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().what == "step 2, rank 1: the gradient of second.weight is not finite");
  }
}

TEST_CASE("a sum that overflows is told apart from a rank's own fault", "[ddp]") {
  auto const outcomes = test::on_ranks(2, [](Session& session) -> Result<void> {
    TwoHeads model;
    MUSTER_TRY(auto const parallel, parallelize(model.net, session.world()));
    parallel->begin({});
    model.net.parameters()[1]->grad().as<float>()[0] = std::numeric_limits<float>::max();
    return parallel->finish();
  });
  for (auto const& outcome : outcomes) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().what ==
          "step 0: the gradient of first.bias is finite on each rank, but not its sum");
  }
}

TEST_CASE("a window without any weight is refused on all ranks", "[ddp]") {
  for (auto const& outcome : spoiled_window([](int, test::SmallBatch&, Module&) {}, 0.0)) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().what.starts_with("step 2: the window's weight"));
  }
}

TEST_CASE("a rank with no samples left takes part with weight zero", "[ddp]") {
  auto const answers = test::on_ranks(2, [](Session& session) {
    test::SmallNet model;
    auto const parallel = parallelize(model.net, session.world(), {.seed = 5});
    auto const idle = session.rank() == 1;
    (*parallel)->begin({.local_weight = idle ? 0.0 : 4.0});
    if (!idle) (void)test::backward(model.net, **parallel, test::small_batch(1, 0, 4)).has_value();
    return (*parallel)->finish() ? gradients(model.net) : std::vector<float>{};
  });
  test::SmallNet alone;
  materialize(alone.net, 5);
  auto const parallel = Parallel::none(alone.net.parameters());
  parallel->begin({.local_weight = 4.0});
  REQUIRE(test::backward(alone.net, *parallel, test::small_batch(1, 0, 4)));
  REQUIRE(parallel->finish());
  CHECK(answers[0] == gradients(alone.net));
  CHECK(answers[1] == answers[0]);
}

TEST_CASE("misuse is an error that says what to do", "[ddp]") {
  auto const outcomes = test::on_ranks(1, [](Session& session) {
    test::SmallNet model;
    auto const parallel = parallelize(model.net, session.world());
    (*parallel)->begin({});
    (*parallel)->begin({});
    auto const again = (*parallel)->finish();
    auto const other = parallelize(model.net, session.world());
    (*other)->begin({});
    (*other)->ready(*model.net.parameters()[0]);
    (*other)->ready(*model.net.parameters()[0]);
    auto const twice = (*other)->finish();
    return std::pair(again ? "" : again.error().what, twice ? "" : twice.error().what);
  });
  CHECK(outcomes[0].first.find("begin() before finish()") != std::string::npos);
  CHECK(outcomes[0].second == "step 0: parameter 0.weight became ready twice in one backward");
}

}  // namespace muster::worker
