// SPDX-License-Identifier: Apache-2.0
#pragma once
// A world's state as a number of 128 bits: equal where the future is equal. Moments count from now,
// events that are due by their order in each connection or process, and nothing counts that only
// the past knows.

#include "rendezvous/sim/channels.hpp"

namespace muster::sim {

Digest digest_of(World const& world);
Digest digest_of(World const& world, View const& view);  // its own

}  // namespace muster::sim
