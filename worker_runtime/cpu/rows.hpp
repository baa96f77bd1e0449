// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels on row-major matrices [rows, columns] whose columns number the second span's size.

#include <span>

namespace muster::worker::cpu {

// x[r][c] += bias[c]
void add_bias(std::span<float> x, std::span<float const> bias);
// sums[c] += x[0][c] + x[1][c] + ..., added from the first row to the last before they are added to
// what is there: the gradient of a bias.
void add_column_sums(std::span<float const> x, std::span<float> sums);

}  // namespace muster::worker::cpu
