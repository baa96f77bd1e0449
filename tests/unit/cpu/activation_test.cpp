// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/activation.hpp"

#include "tests/support/random_floats.hpp"
#include "worker_runtime/cpu/reference.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

namespace muster::worker::cpu {
namespace {

using test::random_floats;
using test::same_bits;

struct Pair {
  char const* name;
  void (*forward)(std::span<float const>, std::span<float>);
  // Backward from the input, whichever of input and output the kernel itself wants.
  void (*backward)(std::span<float const> x, std::span<float const> dy, std::span<float> dx);
  double (*reference)(double);
};

void relu_backward_from_input(std::span<float const> x, std::span<float const> dy,
                              std::span<float> dx) {
  std::vector<float> y(x.size());
  relu_forward(x, y);
  relu_backward(y, dy, dx);
}

Pair const kPairs[] = {{"relu", relu_forward, relu_backward_from_input, reference::relu},
                       {"gelu", gelu_forward, gelu_backward, reference::gelu},
                       {"gelu tanh", gelu_tanh_forward, gelu_tanh_backward, reference::gelu_tanh}};

TEST_CASE("an activation agrees with its obvious version", "[cpu]") {
  auto const& pair = kPairs[GENERATE(0, 1, 2)];
  INFO(pair.name);
  auto const x = random_floats(1003, 1, 6);
  std::vector<float> y(x.size());
  pair.forward(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x = " << x[i]);
    REQUIRE(static_cast<double>(y[i]) ==
            Approx(pair.reference(static_cast<double>(x[i]))).epsilon(2e-6).margin(2e-6));
  }
}

TEST_CASE("an activation's backward is the slope of its obvious version", "[cpu]") {
  auto const& pair = kPairs[GENERATE(0, 1, 2)];
  INFO(pair.name);
  auto const x = random_floats(1003, 2, 5), dy = random_floats(1003, 3);
  std::vector<float> dx(x.size());
  pair.backward(x, dy, dx);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const at = static_cast<double>(x[i]);
    if (std::abs(at) < 2 * kStep) continue;  // relu's corner
    auto const slope = (pair.reference(at + kStep) - pair.reference(at - kStep)) / (2 * kStep);
    INFO("x = " << at);
    REQUIRE(static_cast<double>(dx[i]) ==
            Approx(slope * static_cast<double>(dy[i])).epsilon(1e-5).margin(2e-6));
  }
}

TEST_CASE("an activation has the same bits at any offset and length", "[cpu]") {
  auto const& pair = kPairs[GENERATE(0, 1, 2)];
  INFO(pair.name);
  auto const x = random_floats(300, 4, 3), dy = random_floats(300, 5);
  std::vector<float> y(x.size()), dx(x.size());
  pair.forward(x, y);
  pair.backward(x, dy, dx);
  for (std::size_t begin = 0; begin < 20; ++begin)
    for (std::size_t const count : {1U, 7U, 16U, 33U, 256U}) {
      std::vector<float> y_part(count), dx_part(count);
      pair.forward(std::span(x).subspan(begin, count), y_part);
      pair.backward(std::span(x).subspan(begin, count), std::span(dy).subspan(begin, count),
                    dx_part);
      REQUIRE(same_bits(y_part, std::span(y).subspan(begin, count)));
      REQUIRE(same_bits(dx_part, std::span(dx).subspan(begin, count)));
    }
}

TEST_CASE("an activation hands a NaN on", "[cpu]") {
  auto const& pair = kPairs[GENERATE(0, 1, 2)];
  INFO(pair.name);
  std::vector<float> const x{std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> y(1);
  pair.forward(x, y);
  CHECK(std::isnan(y[0]));
}

}  // namespace
}  // namespace muster::worker::cpu
