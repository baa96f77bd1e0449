// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/parallelize.hpp"

#include "tests/support/ranks.hpp"
#include "tests/support/small_net.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

std::vector<float> values(Module& net) {
  std::vector<float> all;
  for (auto const* param : net.parameters()) {
    auto const value = param->value().as<float>();
    all.insert(all.end(), value.begin(), value.end());
  }
  return all;
}

}  // namespace

TEST_CASE("every rank starts from rank 0's values, frozen ones too", "[ddp]") {
  auto const answers = test::on_ranks(3, [](Session& session) {
    test::SmallNet model;
    model.net.parameters()[1]->set_trainable(false);
    auto const seed = 10 + static_cast<std::uint64_t>(session.rank());
    auto const parallel = parallelize(model.net, session.world(), {.seed = seed});
    if (!parallel || (*parallel)->shards().size() != 3) return std::vector<float>{};
    return values(model.net);
  });
  test::SmallNet expected;
  materialize(expected.net, 10);
  for (auto const& each : answers) CHECK(each == values(expected.net));
}

TEST_CASE("values that a program set, or loaded, are kept", "[ddp]") {
  auto const answers = test::on_ranks(2, [](Session& session) {
    test::SmallNet model;
    materialize(model.net, 3);
    model.net.parameters()[0]->value().as<float>()[0] = 42.0F;
    auto const parallel = parallelize(model.net, session.world());
    return parallel ? values(model.net) : std::vector<float>{};
  });
  REQUIRE_FALSE(answers[1].empty());
  CHECK(answers[0][0] == 42.0F);
  CHECK(answers[1][0] == 42.0F);
}

TEST_CASE("models that differ are refused on all ranks before any value travels", "[ddp]") {
  auto const answers = test::on_ranks(2, [](Session& session) -> Result<void> {
    test::SmallNet model(33 + session.rank());
    MUSTER_TRY(auto const parallel, parallelize(model.net, session.world()));
    (void)parallel;
    return ok();
  });
  for (auto const& each : answers) {
    REQUIRE_FALSE(each);
    CHECK(each.error().what.find("rank 1: the models differ: parameter 0") != std::string::npos);
  }
}

TEST_CASE("a model without parameters is refused", "[ddp]") {
  auto const answers = test::on_ranks(1, [](Session& session) {
    Sequential empty;
    return !parallelize(empty, session.world()).has_value();
  });
  CHECK(answers[0]);
}

}  // namespace muster::worker
