// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/elementwise.hpp"

#include "rendezvous/base/assert.hpp"
#include "worker_runtime/cpu/clones.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace muster::worker::cpu {
namespace {

constexpr std::uint32_t kExponent = 0x7F800000;  // all ones: infinity or NaN

MUSTER_KERNEL void add_flat(float* sum, float const* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += x[i];
}

MUSTER_KERNEL void scale_flat(float* x, std::size_t count, float factor) {
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

MUSTER_KERNEL bool block_is_finite(float const* x, std::size_t count) {
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < count; ++i)
    bad |= (std::bit_cast<std::uint32_t>(x[i]) & kExponent) == kExponent ? 1U : 0U;
  return bad == 0;
}

MUSTER_KERNEL void square_lanes(float const* x, std::size_t count, double* lanes) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane)
      lanes[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(x[i + lane]);
  for (std::size_t lane = 0; i < count; ++i, ++lane)
    lanes[lane] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
}

}  // namespace

void add_into(std::span<float> sum, std::span<float const> x) {
  MUSTER_ASSERT(sum.size() == x.size(), "spans of a kernel have equal lengths");
  add_flat(sum.data(), x.data(), sum.size());
}

void scale(std::span<float> x, float factor) {
  scale_flat(x.data(), x.size(), factor);
}

std::optional<std::size_t> any_non_finite(std::span<float const> x) {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < x.size(); begin += kBlock) {
    auto const count = std::min(kBlock, x.size() - begin);
    if (block_is_finite(x.data() + begin, count)) continue;
    for (auto i = begin;; ++i)
      if ((std::bit_cast<std::uint32_t>(x[i]) & kExponent) == kExponent) return i;
  }
  return std::nullopt;
}

double sum_of_squares(std::span<float const> x) {
  double lanes[8] = {};
  square_lanes(x.data(), x.size(), lanes);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace muster::worker::cpu
