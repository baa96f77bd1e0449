// SPDX-License-Identifier: Apache-2.0
#pragma once
// One round's workers on this node, made ready: folders, log files, pipes, command lines. Shell:
// touches the disk (disk thread). Lives for the round, since the failure report asks for its paths.

#include "launcher/agent/agent_setup.hpp"
#include "launcher/agent/membership_link.hpp"
#include "launcher/logs/layout.hpp"
#include "launcher/logs/pump.hpp"
#include "launcher/process/command.hpp"

#include <string>
#include <vector>

namespace muster::launch {

// Commands by local rank, and the descriptors that they borrow: open until the workers have their
// copies.
struct ReadyWorkers {
  std::vector<Command> commands;
  std::vector<UniqueFd> held;
  std::vector<PumpStream> streams;  // for the pump
};

class Attempt {
 public:
  // Makes the attempt's folders. `run_folder` is empty with --log-dir=/dev/null.
  static Result<Attempt> prepare(AgentSetup const& setup, std::string const& run_folder,
                                 RoundView const& view);

  Result<ReadyWorkers> ready(AgentSetup const& setup);

  // By local rank; empty strings where there is no such file.
  std::vector<WorkerPaths> const& paths() const { return paths_; }

 private:
  WorkerPaths const& paths(int local_rank) const;
  Result<void> add(AgentSetup const& setup, int local_rank, ReadyWorkers& ready);
  Result<int> connect(AgentSetup const& setup, int local_rank, bool is_stderr, ReadyWorkers& ready);
  Result<SinkPointer> filtered(bool is_stderr);

  RoundView view_;
  std::string folder_;
  std::vector<WorkerPaths> paths_;
  UniqueFd null_;
  SinkPointer filtered_[2];
  bool stderr_is_terminal_ = false;
};

}  // namespace muster::launch
