// SPDX-License-Identifier: Apache-2.0
#pragma once
// SplitMix64: a small seeded generator, passed by reference wherever chance is needed. Not for
// secrets.

#include <cstdint>

namespace muster {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    auto z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // 0 <= result < bound; bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace muster
