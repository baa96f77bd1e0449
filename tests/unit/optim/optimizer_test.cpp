// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/optimizer.hpp"

#include "tests/support/one_param.hpp"
#include "worker_runtime/optim/adam.hpp"
#include "worker_runtime/optim/sgd.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace muster::worker {
namespace {

TEST_CASE("a step before the gradients are final is refused and changes nothing", "[optim]") {
  test::OneParam one;
  auto const before = one.param.value().clone();
  Adam optimizer;
  one.parallel->begin({.sync = false});
  REQUIRE(one.parallel->finish());
  auto const refused = optimizer.step(*one.parallel, 0.1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::bad_input);
  CHECK(optimizer.steps() == 0);
  CHECK(test::same_bits(before.as<float>(), one.param.value().as<float>()));
  one.parallel->begin({.sync = true});
  CHECK_FALSE(optimizer.step(*one.parallel, 0.1));
  REQUIRE(one.parallel->finish());
  CHECK(optimizer.step(*one.parallel, 0.1));
}

TEST_CASE("weight decay spares what does not want it", "[optim]") {
  test::OneParam with, without(false);
  Sgd decaying({.weight_decay = 0.1}), also({.weight_decay = 0.1}), plain;
  with.run(decaying, 0.1, 1);
  without.run(also, 0.1, 1);
  test::OneParam bare;
  bare.run(plain, 0.1, 1);
  CHECK(test::same_bits(without.param.value().as<float>(), bare.param.value().as<float>()));
  CHECK_FALSE(test::same_bits(with.param.value().as<float>(), bare.param.value().as<float>()));
}

TEST_CASE("a group rule gives parameters their own rate and decay", "[optim]") {
  test::OneParam a, b;
  Sgd ruled({.group_of = [](ParamSpec const&) {
    return ParamGroup{.weight_decay = 0.1, .lr_scale = 0.5};
  }});
  Sgd plain({.weight_decay = 0.1});
  a.run(ruled, 0.2, 3);
  b.run(plain, 0.1, 3);
  CHECK(test::same_bits(a.param.value().as<float>(), b.param.value().as<float>()));
}

TEST_CASE("state written into a fresh optimizer goes on bit for bit", "[optim]") {
  test::OneParam whole, resumed;
  Adam through({.weight_decay = 0.1}), first({.weight_decay = 0.1});
  whole.run(through, 1e-2, 9);

  resumed.run(first, 1e-2, 5);
  auto const saved = first.state(*resumed.parallel);
  REQUIRE(saved);
  Adam second({.weight_decay = 0.1});
  auto const loaded = second.state(*resumed.parallel);
  REQUIRE(loaded);
  REQUIRE(loaded->size() == saved->size());
  for (std::size_t i = 0; i < saved->size(); ++i)
    std::memcpy((*loaded)[i].value.data(), (*saved)[i].value.data(), (*saved)[i].value.bytes());
  second.set_steps(first.steps());
  resumed.run(second, 1e-2, 4, 5);
  CHECK(test::same_bits(whole.param.value().as<float>(), resumed.param.value().as<float>()));
}

TEST_CASE("an optimizer meets the model it knows, or says so", "[optim]") {
  test::OneParam a, b;
  Sgd optimizer({.momentum = 0.9});
  a.run(optimizer, 0.1, 1);
  b.gradient_of(1);
  auto const refused = optimizer.step(*b.parallel, 0.1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::mismatch);
}

}  // namespace
}  // namespace muster::worker
