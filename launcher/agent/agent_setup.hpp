// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that an agent knows before its first round. A value; the descriptor in `seat` is
// borrowed.

#include "launcher/agent/worker_environment.hpp"
#include "launcher/cli/options.hpp"
#include "launcher/environment/networks.hpp"
#include "launcher/process/guardian.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/net/security.hpp"

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
  NetworkOffer network;                // by which other nodes may reach this one
  std::string boot_id;                 // tells whether two reports share a clock
  Inherited inherited;
  AgentSeat seat;
  net::Security::Ptr security;  // towards other nodes; null: nothing is asked
};

}  // namespace muster::launch
