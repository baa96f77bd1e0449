// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/adam.hpp"

#include "tests/support/golden.hpp"
#include "tests/support/one_param.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

TEST_CASE("AdamW and Adam equal torch's over 20 steps", "[optim]") {
  auto const decoupled = GENERATE(true, false);
  test::OneParam one;
  Adam optimizer({.weight_decay = 0.1, .decoupled = decoupled});
  one.run(optimizer, 1e-2, 20);
  test::check_close(one.param.value().as<float>(),
                    test::golden("training.json")["optimizers"][decoupled ? "adamw" : "adam"],
                    1e-6);
  CHECK(optimizer.steps() == 20);
}

TEST_CASE("Adam's state has torch's names", "[optim]") {
  test::OneParam one;
  Adam optimizer;
  auto const state = optimizer.state(*one.parallel);
  REQUIRE(state);
  REQUIRE(state->size() == 2);
  CHECK((*state)[0].name == "exp_avg");
  CHECK((*state)[1].name == "exp_avg_sq");
  CHECK((*state)[1].param == &one.param);
  CHECK((*state)[1].end == 257);
}

}  // namespace
}  // namespace muster::worker
