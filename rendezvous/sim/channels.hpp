// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is due in a world, by where it happens: one direction of a connection, one program's own
// news, one timer. What is due in one channel happens in its order, and no other order is told.

#include "rendezvous/sim/world.hpp"

#include <map>

namespace muster::sim {

struct Digest {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(Digest const&) const = default;
};

// Connections by what distinguishes them: the caller, and which of its present ones it is. How many
// there were before is past.
using ConnectionNames = std::map<ConnectionId, std::uint64_t>;

struct Channel {
  std::uint64_t name = 0;       // equal in equal states
  std::vector<Due const*> due;  // in their order
  Digest content;
};

// Of a world that is not changed meanwhile.
struct View {
  ConnectionNames names;
  std::vector<Channel> channels;  // by name
};
View view_of(World const& world);

}  // namespace muster::sim
