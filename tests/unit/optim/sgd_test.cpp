// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/sgd.hpp"

#include "tests/support/golden.hpp"
#include "tests/support/one_param.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

TEST_CASE("SGD equals torch's over 20 steps", "[optim]") {
  struct Case {
    char const* name;
    double lr;
    SgdOptions options;
  };
  auto const c = GENERATE(
      Case{"sgd", 0.1, {.weight_decay = 0.01}},
      Case{"sgd_momentum", 0.05, {.momentum = 0.9, .weight_decay = 0.01}},
      Case{"sgd_nesterov", 0.05, {.momentum = 0.9, .weight_decay = 0.01, .nesterov = true}});
  INFO(c.name);
  test::OneParam one;
  Sgd optimizer(c.options);
  one.run(optimizer, c.lr, 20);
  test::check_close(one.param.value().as<float>(),
                    test::golden("training.json")["optimizers"][c.name], 1e-6);
}

TEST_CASE("SGD has a momentum buffer only with momentum", "[optim]") {
  test::OneParam one;
  Sgd plain, heavy({.momentum = 0.9});
  CHECK(plain.state(*one.parallel)->empty());
  auto const state = heavy.state(*one.parallel);
  REQUIRE(state->size() == 1);
  CHECK((*state)[0].name == "momentum_buffer");
}

}  // namespace
}  // namespace muster::worker
