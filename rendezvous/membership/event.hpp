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
};
struct Tick {};

using HostEvent = std::variant<Received, Disconnected, Died, Tick>;

}  // namespace muster::membership
