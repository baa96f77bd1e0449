// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flat kernels on spans: pure, any alignment, same bits at any offset and length. Spans of one call
// have equal lengths and overlap only where they are the same span.

#include <cstddef>
#include <optional>
#include <span>

namespace muster::worker::cpu {

// sum[i] += x[i]
void add_into(std::span<float> sum, std::span<float const> x);
// x[i] *= factor
void scale(std::span<float> x, float factor);
// The lowest index that holds a NaN or an infinity. Bandwidth-bound where there is none.
std::optional<std::size_t> any_non_finite(std::span<float const> x);
// Sum of squares in double, in eight lanes by index (element i goes to lane i % 8), lanes added in
// a tree: deterministic, but not the same at another offset.
double sum_of_squares(std::span<float const> x);

}  // namespace muster::worker::cpu
