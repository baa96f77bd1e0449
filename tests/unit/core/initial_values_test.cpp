// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/initial_values.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace muster::worker {
namespace {

ParamSpec uniform_spec() {
  return {.name = "0.weight", .shape = {31, 33}, .init = {Init::Kind::uniform, -0.25F, 0.25F}};
}

std::vector<float> all_of(ParamSpec const& spec, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(spec.shape.elements()));
  fill_initial(spec, seed, 0, values);
  return values;
}

TEST_CASE("any range of a parameter can be initialised alone", "[core]") {
  auto const spec = uniform_spec();
  auto const whole = all_of(spec, 42);
  auto const begin = GENERATE(0, 1, 2, 3, 4, 500, 1022);
  std::vector<float> part(
      std::min<std::size_t>(37, whole.size() - static_cast<std::size_t>(begin)));
  fill_initial(spec, 42, begin, part);
  CHECK(std::equal(part.begin(), part.end(), whole.begin() + begin));
}

TEST_CASE("uniform values fill their range around its middle", "[core]") {
  auto const values = all_of(uniform_spec(), 1);
  auto const [low, high] = std::minmax_element(values.begin(), values.end());
  CHECK(*low >= -0.25F);
  CHECK(*low < -0.24F);
  CHECK(*high < 0.25F);
  CHECK(*high > 0.24F);
  CHECK(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()) ==
        Approx(0.0).margin(0.015));
}

TEST_CASE("seed and name choose the values, nothing else does", "[core]") {
  auto spec = uniform_spec();
  auto const values = all_of(spec, 42);
  CHECK(all_of(spec, 42) == values);
  CHECK(all_of(spec, 43) != values);
  spec.name = "2.weight";
  CHECK(all_of(spec, 42) != values);
}

TEST_CASE("a constant is a constant", "[core]") {
  ParamSpec const spec{.name = "norm.weight", .shape = {5}, .init = {Init::Kind::constant, 1.0F}};
  CHECK(all_of(spec, 9) == std::vector<float>(5, 1.0F));
}

}  // namespace
}  // namespace muster::worker
