// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process that the user started. It forks the agent, forwards signals to it, and outlives it:
// whatever the agent leaves behind is ended here; whatever the guardian leaves behind (SIGKILL) the
// agent ends, for it sees the guardian die. One thread, no heap, no Asio.
//
// Descriptors: 0, 1, 2 as found; its end of the SOCK_SEQPACKET pair to the agent (channel.hpp); a
// signalfd. Both close-on-exec.

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
std::optional<int> split_into_guardian_and_agent(InheritedSignals const& inherited,
                                                 AgentSeat& seat);

}  // namespace muster::launch
