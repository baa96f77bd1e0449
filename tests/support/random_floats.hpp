// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seeded test data, and comparison by bits.

#include "rendezvous/base/random.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace muster::test {

// `count` values in [-scale, scale).
inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, float scale = 1.0F) {
  Random random(seed);
  std::vector<float> values(count);
  for (auto& value : values) value = scale * (2.0F * static_cast<float>(random.unit()) - 1.0F);
  return values;
}

inline bool same_bits(std::span<float const> a, std::span<float const> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace muster::test
