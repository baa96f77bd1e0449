// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an event touches of a world. Two that touch nothing in common, or only look at it, come to
// the same in either order, for the world and for the invariants.

#include "rendezvous/sim/channels.hpp"

namespace muster::sim {

enum class Thing : std::uint8_t {
  program,  // of one machine: its agent or daemon, its workers, its ends of connections; or the
            // lines that its guardian keeps (guardian_of)
  life,     // whether somebody takes calls there
  links,    // which are cut
  births,   // numbers that are given once in a world
  // What the invariants compare across machines:
  workers,
  records,  // that were decided
  holders,  // of records; who is dead; which workers failed
  stores,
  everything,  // in conflict with whatever else
};

enum class How : std::uint8_t {
  adds,     // to what is known, in any order
  looks,    // in any order among themselves
  changes,  // in conflict with whatever else touches the thing
};

struct Touch {
  Thing thing = Thing::everything;
  How how = How::changes;
  NodeIndex node = 0;
  friend bool operator==(Touch const&, Touch const&) = default;
};

bool in_conflict(Touch const& a, Touch const& b);
bool in_conflict(std::vector<Touch> const& a, std::vector<Touch> const& b);

// What is looked at before an event and again after it.
struct Sight {
  struct Agent {
    ProcessId id;
    NodeIndex node = 0;
    bool alive = false, gone = false;
    Workers workers;
    std::vector<WordLine> lines;
  };
  std::vector<Agent> agents;
  std::size_t known = 0;         // holders, deaths and failures
  bool judges_progress = false;  // the next event is the one at which invariant 12 is judged
  static Sight of(World const& world);
};

// Before an event, what it touches for certain; `owner`: who has to deal with it.
std::vector<Touch> touches_of(World const& world, Happening const& what, NodeIndex owner);
std::vector<Touch> touches_of(World const& world, Fault const& fault);
// After it, what it touched besides.
void add_touches(std::vector<Touch>& touches, Sight const& before, World const& world);

}  // namespace muster::sim
