// SPDX-License-Identifier: Apache-2.0
#pragma once
// `muster run`, in the agent process: command line to exit code. The one place where the parts of
// the launcher are put together.

#include "launcher/process/guardian.hpp"

#include <string>
#include <vector>

namespace muster::launch {

struct Invocation {
  std::string program;    // for texts: "muster run" or "torchrun"
  std::string called_as;  // argv[0]
  std::vector<std::string> args;
  Inherited inherited;
  AgentSeat seat;
};

// Returns when no worker is left.
int run_agent(Invocation invocation);

}  // namespace muster::launch
