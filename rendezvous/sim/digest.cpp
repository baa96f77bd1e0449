// SPDX-License-Identifier: Apache-2.0
// What counts of a world, in an order that the state gives.

#include "rendezvous/sim/digest.hpp"

#include "rendezvous/sim/hasher.hpp"

namespace muster::sim {

Digest digest_of(World const& world) {
  return digest_of(world, view_of(world));
}

Digest digest_of(World const& world, View const& view) {
  Hasher hasher(world.moment(), view.names);
  hasher.put(world.nodes);
  hasher.put(world.processes);
  hasher.put(world.network.connections());
  hasher.put(world.network.links());
  hasher.put(world.checker.known());
  for (auto const& channel : view.channels) {
    hasher.add(channel.name);
    hasher.put(channel.content);
  }
  return hasher.result();
}

}  // namespace muster::sim
