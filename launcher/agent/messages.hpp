// SPDX-License-Identifier: Apache-2.0
#pragma once
// muster's own few lines about a run. Pure.

#include "launcher/agent/agent_setup.hpp"
#include "launcher/agent/membership_link.hpp"
#include "launcher/process/exit_status.hpp"

#include <optional>
#include <string>

namespace muster::launch {

// The one line of a start: workers, nodes, log folder, interpreter and its version.
std::string start_line(AgentSetup const& setup, RoundView const& view,
                       std::string const& run_folder);

// "muster: network: 10.77.0.0/24 by eth0, master 10.77.0.1:43211"; nothing on one machine.
std::optional<std::string> network_line(RoundView const& view);

// "rank 3 (local rank 1, pid 812) died of SIGKILL", "... exited with code 7".
std::string cause_line(RoundView const& view, int local_rank, int pid, ExitStatus status);

// The line of a further round: what ended the last one, which restart this is or how many nodes go
// on, and how long it took from the first sign of trouble. `cause` may be empty.
std::string restart_line(AgentSetup const& setup, RoundView const& view, std::string const& cause,
                         Duration since_cause);

}  // namespace muster::launch
