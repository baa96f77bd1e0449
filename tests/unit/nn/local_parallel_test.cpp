// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/parallel.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace muster::worker {
namespace {

struct Fixture {
  Fixture() {
    for (auto* const param : {&weight, &frozen})
      param->bind_value(Tensor::zeros(param->spec().shape));
    parallel = Parallel::none({&weight, &frozen});
  }
  void add(float gradient) {
    for (auto& g : weight.grad().as<float>()) g += gradient;
  }

  Param weight{ParamSpec{.name = "weight", .shape = {2, 2}}};
  Param frozen{ParamSpec{.name = "frozen", .shape = {3}, .trainable = false}};
  std::unique_ptr<Parallel> parallel;
};

TEST_CASE_METHOD(Fixture, "gradients are divided by the weight of the window", "[nn]") {
  parallel->begin({.local_weight = 4});
  CHECK_FALSE(parallel->finished());
  add(10);
  REQUIRE(parallel->finish());
  CHECK(parallel->finished());
  CHECK(weight.grad().as<float>()[3] == 2.5F);
}

TEST_CASE_METHOD(Fixture, "windows without sync add up until one with sync divides by all",
                 "[nn]") {
  parallel->begin({.sync = false, .local_weight = 3});
  add(5);
  REQUIRE(parallel->finish());
  CHECK_FALSE(parallel->finished());
  parallel->begin({.sync = true, .local_weight = 1});
  add(7);
  REQUIRE(parallel->finish());
  CHECK(weight.grad().as<float>()[0] == 3.0F);

  parallel->begin({.local_weight = 2});
  CHECK(weight.grad().as<float>()[0] == 0.0F);
  add(2);
  REQUIRE(parallel->finish());
  CHECK(weight.grad().as<float>()[0] == 1.0F);
}

TEST_CASE_METHOD(Fixture, "what is trainable is seen by optimizers, flat and sharing bytes",
                 "[nn]") {
  parallel->begin({});
  auto const shards = parallel->shards();
  REQUIRE(shards.size() == 1);
  CHECK(shards[0].param == &weight);
  CHECK(shards[0].end == 4);
  CHECK(shards[0].value.shape == Shape{4});
  shards[0].value.as<float>()[2] = 9;
  CHECK(weight.value().as<float>()[2] == 9.0F);
  CHECK_FALSE(frozen.grad().storage);
}

TEST_CASE_METHOD(Fixture, "a gradient that is not finite is named with step and parameter",
                 "[nn]") {
  parallel->begin({.step = 17});
  weight.grad().as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  auto const end = parallel->finish();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Errc::non_finite);
  CHECK(end.error().what.find("step 17, rank 0: gradient of weight is nan at element 3") == 0);
  CHECK_FALSE(parallel->finished());
}

TEST_CASE_METHOD(Fixture, "after an error the next window starts from zero", "[nn]") {
  parallel->begin({.local_weight = 8});
  add(std::numeric_limits<float>::infinity());
  REQUIRE_FALSE(parallel->finish());
  parallel->begin({.local_weight = 2});
  add(6);
  REQUIRE(parallel->finish());
  CHECK(weight.grad().as<float>()[1] == 3.0F);
}

TEST_CASE_METHOD(Fixture, "a loss that is not finite stops the step", "[nn]") {
  parallel->begin({.step = 3});
  parallel->loss(std::numeric_limits<double>::infinity());
  auto const end = parallel->finish();
  REQUIRE_FALSE(end);
  CHECK(end.error().what == "step 3, rank 0: the loss is inf");
}

TEST_CASE_METHOD(Fixture, "a window without samples is refused", "[nn]") {
  parallel->begin({.local_weight = 0});
  auto const end = parallel->finish();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Errc::bad_input);
}

}  // namespace
}  // namespace muster::worker
