// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ends of a round's workers on this node, made into the report that travels. Shell: reads the
// workers' error files.

#include "launcher/agent/agent_setup.hpp"
#include "launcher/agent/agent_step.hpp"
#include "launcher/agent/attempt.hpp"
#include "launcher/diagnose/failure_report.hpp"

#include <functional>
#include <vector>

namespace muster::launch {

// `pid_of` tells the process of a local rank. Workers that ended well are left out.
NodeReport make_node_report(AgentSetup const& setup, RoundView const& view,
                            std::vector<WorkerEnd> const& ends, Attempt const& attempt,
                            Tails const& tails, std::function<int(int)> const& pid_of);

}  // namespace muster::launch
