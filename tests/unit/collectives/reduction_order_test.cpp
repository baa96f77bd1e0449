// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/collectives/reduction_order.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace muster::worker;

namespace {

std::string order_of(int n) {
  return tree_fold(
      0, n, [](int i) { return std::to_string(i); },
      [](std::string const& a, std::string const& b) { return "(" + a + "+" + b + ")"; });
}

}  // namespace

TEST_CASE("the tree splits at the largest power of two below the number of parties") {
  CHECK(order_of(1) == "0");
  CHECK(order_of(2) == "(0+1)");
  CHECK(order_of(3) == "((0+1)+2)");
  CHECK(order_of(4) == "((0+1)+(2+3))");
  CHECK(order_of(5) == "(((0+1)+(2+3))+4)");
  CHECK(order_of(7) == "(((0+1)+(2+3))+((4+5)+6))");
}
