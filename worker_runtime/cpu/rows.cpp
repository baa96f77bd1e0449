// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/rows.hpp"

#include "rendezvous/base/assert.hpp"
#include "worker_runtime/cpu/clones.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace muster::worker::cpu {
namespace {

constexpr std::size_t kBlock = 64;  // columns whose sums stay in registers or L1

MUSTER_KERNEL void add_bias_flat(float* x, std::size_t rows, float const* bias,
                                 std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) x[r * columns + c] += bias[c];
}

MUSTER_KERNEL void sum_block(float const* x, std::size_t rows, std::size_t columns,
                             std::size_t width, float* sums) {
  std::array<float, kBlock> partial{};
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < width; ++c) partial[c] += x[r * columns + c];
  for (std::size_t c = 0; c < width; ++c) sums[c] += partial[c];
}

std::size_t rows_of(std::size_t elements, std::size_t columns) {
  MUSTER_ASSERT(columns > 0 && elements % columns == 0, "a matrix has whole rows");
  return elements / columns;
}

}  // namespace

void add_bias(std::span<float> x, std::span<float const> bias) {
  add_bias_flat(x.data(), rows_of(x.size(), bias.size()), bias.data(), bias.size());
}

void add_column_sums(std::span<float const> x, std::span<float> sums) {
  auto const rows = rows_of(x.size(), sums.size());
  if (rows == 0) return;
  for (std::size_t c = 0; c < sums.size(); c += kBlock)
    sum_block(x.data() + c, rows, sums.size(), std::min(kBlock, sums.size() - c), sums.data() + c);
}

}  // namespace muster::worker::cpu
