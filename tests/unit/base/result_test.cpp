// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/result.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>

namespace muster {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{Errc::bad_input, "odd", {}};
  return n / 2;
}

Result<std::string> quarter(int n) {
  MUSTER_TRY(auto const once, half(n));
  MUSTER_TRY(auto const twice, half(once));
  return std::to_string(twice);
}

Result<void> only_even(int n) {
  MUSTER_TRY([[maybe_unused]] auto const unused, half(n));
  return ok();
}

Result<void> both_even(int a, int b) {
  MUSTER_CHECK(only_even(a));
  MUSTER_CHECK(only_even(b));
  return ok();
}

}  // namespace

TEST_CASE("MUSTER_TRY passes values on and returns the first error", "[base]") {
  CHECK(quarter(8).value() == "2");
  CHECK(quarter(6).error().what == "odd");
  CHECK(quarter(7).error().code == Errc::bad_input);
}

TEST_CASE("MUSTER_CHECK returns the error of a Result<void>", "[base]") {
  CHECK(both_even(2, 4).has_value());
  CHECK_FALSE(both_even(2, 3).has_value());
}

TEST_CASE("a Result carries move-only values", "[base]") {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  auto taken = *std::move(made);
  CHECK(*taken == 7);
}

}  // namespace muster
