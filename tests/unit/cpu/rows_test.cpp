// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/rows.hpp"

#include "tests/support/random_floats.hpp"
#include "worker_runtime/cpu/reference.hpp"

#include <catch2/catch.hpp>

namespace muster::worker::cpu {
namespace {

using test::random_floats;

TEST_CASE("column sums have the bits of their obvious version", "[cpu]") {
  auto const rows = static_cast<std::size_t>(GENERATE(0, 1, 5, 64));
  auto const columns = static_cast<std::size_t>(GENERATE(1, 10, 63, 64, 65, 256));
  auto const x = random_floats(rows * columns, 1);
  auto sums = random_floats(columns, 2);
  auto expected = sums;
  add_column_sums(x, sums);
  reference::add_column_sums(x, expected);
  CHECK(test::same_bits(sums, expected));
}

TEST_CASE("a bias is added to every row", "[cpu]") {
  auto const columns = static_cast<std::size_t>(GENERATE(1, 10, 65));
  auto x = random_floats(7 * columns, 1);
  auto const before = x, bias = random_floats(columns, 2);
  add_bias(x, bias);
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == before[i] + bias[i % columns]);
}

}  // namespace
}  // namespace muster::worker::cpu
