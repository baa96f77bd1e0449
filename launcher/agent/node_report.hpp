// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ends of a round's workers on this node, made into the report that travels. Shell: reads the
// workers' error files and logs, hence runs on the disk thread, with all that it needs by value.

#include "launcher/agent/agent_setup.hpp"
#include "launcher/agent/agent_step.hpp"
#include "launcher/agent/attempt.hpp"
#include "launcher/diagnose/failure_report.hpp"

#include <vector>

namespace muster::launch {

struct RoundEnds {
  RoundView view;
  std::vector<WorkerEnd> ends;
  std::vector<int> pids;  // by local rank, as are the paths
  std::vector<WorkerPaths> paths;
  Tails tails;  // of those whose stderr went through the pump
};

// Workers that ended well are left out.
NodeReport make_node_report(AgentSetup const& setup, RoundEnds const& round);
// What is known without asking the disk.
NodeReport make_bare_report(AgentSetup const& setup, RoundEnds const& round);

}  // namespace muster::launch
