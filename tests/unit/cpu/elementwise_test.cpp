// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/elementwise.hpp"

#include "tests/support/random_floats.hpp"

#include <catch2/catch.hpp>

#include <limits>

namespace muster::worker::cpu {
namespace {

using test::random_floats;

TEST_CASE("add_into and scale do one rounding an element", "[cpu]") {
  auto const count = static_cast<std::size_t>(GENERATE(0, 1, 7, 16, 1003));
  auto sum = random_floats(count, 1);
  auto const before = sum, x = random_floats(count, 2);
  add_into(sum, x);
  for (std::size_t i = 0; i < count; ++i) REQUIRE(sum[i] == before[i] + x[i]);
  scale(sum, 0.3F);
  for (std::size_t i = 0; i < count; ++i) REQUIRE(sum[i] == (before[i] + x[i]) * 0.3F);
}

TEST_CASE("any_non_finite names the first element that is no number", "[cpu]") {
  auto const bad =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
               -std::numeric_limits<float>::infinity());
  auto x = random_floats(10000, 3);
  CHECK_FALSE(any_non_finite(x));
  for (std::size_t const at : {9999U, 4096U, 4095U, 17U, 0U}) {
    x[at] = bad;
    CHECK(any_non_finite(x) == at);
  }
}

TEST_CASE("the largest and the smallest numbers are finite", "[cpu]") {
  std::vector<float> const x{std::numeric_limits<float>::max(),
                             std::numeric_limits<float>::lowest(),
                             std::numeric_limits<float>::denorm_min(), -0.0F};
  CHECK_FALSE(any_non_finite(x));
  CHECK_FALSE(any_non_finite({}));
}

TEST_CASE("sum_of_squares agrees with the obvious sum", "[cpu]") {
  auto const count = static_cast<std::size_t>(GENERATE(0, 1, 7, 8, 9, 1003));
  auto const x = random_floats(count, 4);
  double sum = 0;
  for (auto const value : x) sum += static_cast<double>(value) * static_cast<double>(value);
  CHECK(sum_of_squares(x) == Approx(sum).epsilon(1e-12));
}

}  // namespace
}  // namespace muster::worker::cpu
