// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process that the user started. It forks the agent, forwards signals to it, and outlives it:
// whatever the agent leaves behind is ended here; whatever the guardian leaves behind (SIGKILL) the
// agent ends, for it sees the guardian die. When all are dead it says the agent's last word to the
// other nodes, unless the agent finished in order. One thread, no heap, no Asio.
//
// Descriptors, all close-on-exec but 0, 1, 2, which stay as found: its end of the SOCK_SEQPACKET
// pair to the agent (channel.hpp), a signalfd, and the connections of the last word.

#include "launcher/process/inherited.hpp"

#include <optional>
#include <sys/types.h>

namespace muster::launch {

// What the agent is given to know its guardian.
struct AgentSeat {
  pid_t guardian = 0;
  int channel = -1;  // to the guardian, non-blocking
};

// Forks. In the agent (own session, subreaper): returns nothing and fills `seat`. In the guardian:
// returns the exit code when the agent and all descendants are gone; does not return if the agent
// ended by the SIGINT that the guardian forwarded: then this process dies of SIGINT, too.
std::optional<int> split_into_guardian_and_agent(Inherited const& inherited, AgentSeat& seat);

}  // namespace muster::launch
