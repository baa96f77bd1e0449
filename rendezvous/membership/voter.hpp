// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every agent keeps for the others: the newest record it holds, and what it promised.

#include "rendezvous/membership/message.hpp"

#include <map>
#include <optional>
#include <set>

namespace muster::membership {

struct Voter {
  Generation generation;
  Epoch promised;  // of the last reign that it prepared for, voted for or obeyed; never falls
  Epoch voted;     // the last reign that it gave its one vote to
  std::optional<Proposed> prepared;
  std::optional<Record> committed;
  std::map<Incarnation, TimePoint> vouched;  // who asked, while the host was silent, and when
  std::set<Incarnation> gone;                // by their last word
};

// How the host stands with this voter when it is asked for its vote.
struct HostSilence {
  Duration age{};            // since it was last heard
  bool connected = true;     // a connection to it is open
  Duration patience{};       // a silence so long is worth an election
  bool gone = false;         // by its last word, or its own
  bool asks_itself = false;  // the candidate is that host: it wants a newer reign
};

}  // namespace muster::membership
