// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ports that somebody may use, both ends included.

#include <cstddef>
#include <cstdint>

namespace muster {

struct PortRange {
  std::uint16_t first = 0, last = 0;

  bool contains(std::uint16_t port) const { return port >= first && port <= last; }
  std::size_t size() const { return std::size_t{last} - first + 1; }
  friend bool operator==(PortRange const&, PortRange const&) = default;
};

// The port of a round's store is not used again for so many rounds: who still calls an old round
// must not meet a new one.
inline constexpr std::size_t kPortRests = 8;

}  // namespace muster
