// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/schedule.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

TEST_CASE("a constant rate is constant", "[optim]") {
  Schedule const schedule{.base = 0.1};
  CHECK(lr_at(schedule, 0) == 0.1);
  CHECK(lr_at(schedule, 1000000) == 0.1);
}

TEST_CASE("a warm-up rises in equal parts and reaches the base with its last step", "[optim]") {
  Schedule const schedule{.base = 1.0, .warmup_steps = 4};
  CHECK(lr_at(schedule, 0) == 0.25);
  CHECK(lr_at(schedule, 1) == 0.5);
  CHECK(lr_at(schedule, 3) == 1.0);
  CHECK(lr_at(schedule, 4) == 1.0);
}

TEST_CASE("linear and cosine rates end at their fraction and stay there", "[optim]") {
  auto const shape = GENERATE(Schedule::Shape::linear, Schedule::Shape::cosine);
  Schedule const schedule{shape, 2.0, 10, 110, 0.1};
  CHECK(lr_at(schedule, 9) == 2.0);
  CHECK(lr_at(schedule, 10) == 2.0);
  CHECK(lr_at(schedule, 60) == Approx(1.1));
  CHECK(lr_at(schedule, 110) == Approx(0.2));
  CHECK(lr_at(schedule, 100000) == Approx(0.2));
}

TEST_CASE("a quarter of a cosine is above a quarter of a line", "[optim]") {
  Schedule const line{Schedule::Shape::linear, 1.0, 0, 100, 0},
      cosine{Schedule::Shape::cosine, 1.0, 0, 100, 0};
  CHECK(lr_at(line, 25) == Approx(0.75));
  CHECK(lr_at(cosine, 25) == Approx(0.8535534));
}

TEST_CASE("a schedule that ends within its warm-up goes straight to its end", "[optim]") {
  Schedule const schedule{Schedule::Shape::linear, 1.0, 5, 5, 0.5};
  CHECK(lr_at(schedule, 4) == 1.0);
  CHECK(lr_at(schedule, 6) == 0.5);
}

TEST_CASE("the rate grows linearly with the global batch", "[optim]") {
  CHECK(lr_for_batch(1e-3, 256, 64) == 4e-3);
  CHECK(lr_for_batch(1e-3, 64, 64) == 1e-3);
}

}  // namespace
}  // namespace muster::worker
