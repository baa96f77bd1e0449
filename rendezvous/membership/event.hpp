// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can happen to the host of a job.

#include "rendezvous/membership/message.hpp"

#include <string>
#include <variant>

namespace muster::membership {

struct Received {
  Header header;
  Message message;
  std::string seen_from;   // numeric address of the peer on its connection
  std::string reached_at;  // numeric address of ours that it connected to
};
struct Disconnected {  // proves nothing: the member may call again
  Incarnation node;
};
struct Died {  // proof: the guardian's last word
  Incarnation node;
  RoundNumber round;  // of the newest record that its agent had prepared
  Epoch epoch{};      // its reign, or a later one that it had voted for
};
struct Overruled {  // somebody else hosts this job
  HostIs by;
};
struct ResignWanted {};  // a daemon is told to end: its jobs go on without it
struct Tick {};

using HostEvent = std::variant<Received, Disconnected, Died, Overruled, ResignWanted, Tick>;

}  // namespace muster::membership
