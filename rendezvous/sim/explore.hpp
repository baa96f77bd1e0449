// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every history of a small world: each order in which letters can arrive, and a fault at each
// moment. Letters take no time; time goes on when nothing is under way, or earlier, as often as the
// bounds allow. States that were seen before are not looked at again.

#include "rendezvous/sim/world.hpp"

#include <map>

namespace muster::sim {

// Connections by what distinguishes them: the caller, and which of its present ones it is. How many
// there were before is past.
using ConnectionNames = std::map<ConnectionId, std::uint64_t>;
ConnectionNames names_of_connections(World const& world);

// What happens one after the other: one direction of a connection, one program's own news, one
// timer.
struct Channel {
  std::vector<std::uint64_t> place;
  std::vector<Due const*> due;  // in their order
};
std::vector<Channel> channels_of(World const& world, ConnectionNames const& names);

inline constexpr std::uint32_t kEveryOrder = 0xffffffff;

struct Bounds {
  std::vector<Fault> faults;       // which may strike, each at any moment
  std::uint32_t strikes = 1;       // so many of them in one history
  Duration heal_after{};           // 0: never; else links are cut for so long
  std::uint32_t early_timers = 0;  // fire though letters are under way
  // How often in one history something else may come next than the first in a fixed order of
  // connections, programs and timers (delay-bounded scheduling; Emmi, Qadeer, Rakamaric 2011).
  std::uint32_t detours = kEveryOrder;
  std::uint64_t states = 1'000'000;
};

struct Exploration {
  std::uint64_t states = 0, steps = 0, ends = 0;  // different ones; taken; histories that ended
  std::size_t deepest = 0;
  bool complete = false;  // within the bounds; else the one on states was met
  bool cut = false;       // the bound on detours left something out
  std::vector<Violation> violations;
  std::vector<std::string> story;  // of the history that broke an invariant
};

// `plan` without chance: no weather, drift or jitter; its own faults strike at their times.
Exploration explore(Plan const& plan, Bounds const& bounds, Twist const* twist = nullptr);

// A plan for it: everything happens at once or after a fixed time.
Plan exact_plan(std::uint32_t nodes, std::uint32_t min_nodes);

}  // namespace muster::sim
