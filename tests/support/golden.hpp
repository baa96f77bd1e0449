// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that another program gave, read from tests/golden, and comparison with them.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace muster::test {

// MUSTER_GOLDEN_DIR is given by the CMakeLists.txt of the test's folder.
inline nlohmann::json golden(std::string const& name) {
  std::ifstream file(std::string(MUSTER_GOLDEN_DIR) + "/" + name);
  REQUIRE(file.good());
  return nlohmann::json::parse(file);
}

// Every `stride`th of `values` is within `tolerance`, absolute below 1 and relative above.
inline void check_close(std::span<float const> values, nlohmann::json const& expected,
                        double tolerance, std::size_t stride = 1) {
  auto const wanted = expected.get<std::vector<double>>();
  REQUIRE(wanted.size() == (values.size() + stride - 1) / stride);
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto const error = std::abs(static_cast<double>(values[i * stride]) - wanted[i]) /
                       std::max(1.0, std::abs(wanted[i]));
    if (!(error <= worst)) worst = error;
  }
  INFO("worst difference " << worst << ", allowed " << tolerance);
  CHECK(worst <= tolerance);
}

}  // namespace muster::test
