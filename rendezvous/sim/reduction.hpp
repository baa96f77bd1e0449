// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which orders differ: partial-order reduction with states that are kept (Flanagan, Godefroid 2005;
// Yang, Chen, Gopalakrishnan, Kirby 2008). In a state one machine's heads (the first letters of its
// channels) are tried first, those of another machine only where what happens below shows that they
// can make a difference: something there is in conflict with one of the heads tried (touch.hpp),
// and would happen without it, too.
//
// Of each state that is done with, a summary is kept: what was touched below it until time went on,
// and for each of those touches which heads of that state must have come before. Where several
// events touch the same, only what holds for all of them is kept: less known to come before means
// more conflicts, never fewer.
//
// Why that is enough. Let heads T be tried in a state s, and let some history from s begin with
// events outside T, the last of which is the first in conflict with an event t of T. Then t can
// come first, and these events happen after it as well. They are in the summary of the state after
// t, without t or what t sent among their causes, so they are met here, and a head that all of them
// need is tried, too. So any history can be reordered to begin with one of T, by exchanging
// neighbours that touch nothing in common. Time goes on when nothing is under way: what happens
// after that is in conflict with all before.

#include "rendezvous/sim/touch.hpp"

namespace muster::sim {

using Heads = std::uint64_t;  // a bit for each
inline constexpr std::size_t kMostHeads = 63;

struct Head {
  Origin origin{};
  std::uint64_t number = 0;  // of what is due; 0: the fault
  NodeIndex owner = kNoNode;
};

// What was touched below a state, and what must have happened before.
struct Below {
  Touch touch;
  NodeIndex owner = kNoNode;
  Origin channel{};         // of a letter: it comes after all before it there
  std::uint64_t acted = 0;  // machines that acted before it, below that state
  Heads heads = 0;          // of that state that came before it, or are it
};
using Summary = std::vector<Below>;

// As equal states have it, and back.
Summary general(Summary summary, ConnectionNames const& names);
Summary particular(Summary summary, ConnectionNames const& names);
void merge(Summary& summary, Below const& one);
Summary anything();  // nothing is known

// One event, from state to state.
struct Passage {
  std::vector<Head> const& from;
  std::size_t head = 0;  // of `from`
  std::vector<Touch> const& touches;
  std::vector<Head> const& to;
};

struct Conflict {
  Heads instead = 0;  // some of these must be tried, too; none: any might have to
};

// What is below the state after the passage, told of the state before it; and the conflicts with
// the event itself.
struct Review {
  Summary summary;
  std::vector<Conflict> conflicts;
};
Review review(Passage const& passage, Summary const& below);

}  // namespace muster::sim
