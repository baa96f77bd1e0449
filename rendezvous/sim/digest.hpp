// SPDX-License-Identifier: Apache-2.0
#pragma once
// A world's state as a number of 128 bits: equal where the future is equal. Moments count from now,
// events that are due by their order in each connection or process, and nothing counts that only
// the past knows.

#include <compare>
#include <cstdint>

namespace muster::sim {

class World;

struct Digest {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(Digest const&) const = default;
};

Digest digest_of(World const& world);

}  // namespace muster::sim
