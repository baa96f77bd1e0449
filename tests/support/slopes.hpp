// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finite differences: a gradient answers to the function it claims to belong to.

#include "worker_runtime/core/tensor.hpp"

#include <catch2/catch.hpp>

#include <functional>

namespace muster::test {

// Moves each `stride`th element of x up and down by `step` and compares the loss's slope with the
// gradient there. `loss` reads x anew each time.
inline void check_slopes(worker::Tensor const& x, worker::Tensor const& gradient,
                         std::function<double()> const& loss, double tolerance,
                         std::size_t stride = 1, float step = 1e-2F) {
  auto const values = x.as<float>();
  for (std::size_t i = 0; i < values.size(); i += stride) {
    auto const kept = values[i];
    values[i] = kept + step;
    auto const up = static_cast<double>(values[i]), above = loss();
    values[i] = kept - step;
    auto const down = static_cast<double>(values[i]), below = loss();
    values[i] = kept;
    INFO("element " << i);
    CHECK(static_cast<double>(gradient.as<float>()[i]) ==
          Approx((above - below) / (up - down)).epsilon(tolerance).margin(tolerance));
  }
}

}  // namespace muster::test
