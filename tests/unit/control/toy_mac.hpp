// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands in for HMAC-SHA256 where a test is about what goes into it: differs where key or parts
// differ, and proves nothing to anybody.

#include "rendezvous/control/mac.hpp"

#include <cstdint>

namespace muster::control {

inline std::string toy_mac(std::string_view key, std::span<std::string_view const> parts) {
  std::uint64_t state = 0xCBF29CE484222325ULL;
  auto const mix = [&state](std::string_view bytes) {
    for (auto const each : bytes)
      state = (state ^ static_cast<unsigned char>(each)) * 0x100000001B3ULL;
  };
  mix(key);
  mix("|");
  for (auto const part : parts) mix(part);
  std::string out;
  while (out.size() < kMacBytes) {
    mix("+");
    out.push_back(static_cast<char>(state >> 56));
  }
  return out;
}

}  // namespace muster::control
