// SPDX-License-Identifier: Apache-2.0
#pragma once
// Philox 4x32-10, the counter-based generator of Salmon et al. (SC 2011): random words are a pure
// function of key and counter, so any element of any stream can be drawn alone, on any rank.

#include <array>
#include <cstdint>
#include <string_view>

namespace muster::worker {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    auto const product0 = kMultiplier0 * counter[0];
    auto const product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

// One stream of words for each (seed, name); word i is independent of all others.
class PhiloxStream {
 public:
  constexpr PhiloxStream(std::uint64_t seed, std::string_view name)
      : key_{low(seed), high(seed)}, stream_(hash(name)) {}

  constexpr std::uint32_t word(std::uint64_t index) const {
    auto const block = index / 4;
    return philox4x32({low(block), high(block), low(stream_), high(stream_)}, key_)[index % 4];
  }
  // The four words 4 * block to 4 * block + 3.
  constexpr PhiloxBlock words(std::uint64_t block) const {
    return philox4x32({low(block), high(block), low(stream_), high(stream_)}, key_);
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static constexpr std::uint32_t high(std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  }
  static constexpr std::uint64_t hash(std::string_view name) {  // FNV-1a
    std::uint64_t value = 0xCBF29CE484222325ULL;
    for (auto const c : name) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return value;
  }

  std::array<std::uint32_t, 2> key_;
  std::uint64_t stream_;
};

// 24 random bits as a float in [0, 1).
constexpr float unit_float(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1.0p-24F;
}

}  // namespace muster::worker
