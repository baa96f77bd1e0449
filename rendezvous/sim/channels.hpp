// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is due in a world, by where it happens: one direction of a connection, one program's own
// news, one timer. What is due in one channel happens in its order, and no other order is told.

#include "rendezvous/sim/world.hpp"

#include <array>
#include <map>

namespace muster::sim {

struct Digest {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(Digest const&) const = default;
};

// Connections by what distinguishes them: the caller, and which of its present ones it is. How many
// there were before is past.
using ConnectionNames = std::map<ConnectionId, std::uint64_t>;

// Tells channels of one history apart: kind, and whose or which connection.
using Origin = std::array<std::uint64_t, 3>;

inline constexpr NodeIndex kNoNode = 63;  // of what belongs to no node alone; there are fewer

// The lines on which a guardian will say its agent's last word: nothing else knows of them.
constexpr NodeIndex guardian_of(NodeIndex node) {
  return node + 32;
}

struct Channel {
  std::uint64_t name = 0;  // equal in equal states
  Origin origin{};
  NodeIndex owner = kNoNode;    // whose program, or machine, has to deal with it
  std::vector<Due const*> due;  // in their order
  Digest content;
};

// Of a world that is not changed meanwhile.
struct View {
  ConnectionNames names;
  std::vector<Channel> channels;  // by name
};
View view_of(World const& world);
ConnectionNames names_of_connections(World const& world);

// A channel of several letters as equal states call it, and back; nothing for other ones.
Origin general(Origin const& origin, ConnectionNames const& names);
Origin particular(Origin const& origin, ConnectionNames const& names);

}  // namespace muster::sim
