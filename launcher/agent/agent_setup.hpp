// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that an agent knows before its first round. A value; the descriptor in `seat` is
// borrowed.

#include "launcher/agent/worker_environment.hpp"
#include "launcher/cli/options.hpp"
#include "launcher/process/guardian.hpp"
#include "rendezvous/base/env_view.hpp"

#include <string>
#include <vector>

namespace muster::launch {

struct AgentSetup {
  RunOptions options;
  EnvView env;
  NodeFacts node;
  std::string interpreter_version;
  std::vector<std::vector<int>> cpus;  // by local rank; empty: not bound
  std::string host;                    // this machine's name, for reports
  std::string boot_id;                 // tells whether two reports share a clock
  InheritedSignals inherited;
  AgentSeat seat;
};

}  // namespace muster::launch
