// SPDX-License-Identifier: Apache-2.0
#pragma once
// All that a round's start needs from the disk: folders, log files, the program's path. Shell: may
// wait for a file server, hence runs on the disk thread (agent/disk_thread).

#include "launcher/agent/attempt.hpp"

#include <string>

namespace muster::launch {

struct RoundFiles {
  std::string run_folder;  // empty with --log-dir=/dev/null
  Attempt attempt;
  ReadyWorkers ready;
};

// `run_folder`: of an earlier round; unset: it is made.
Result<RoundFiles> make_round_files(AgentSetup const& setup,
                                    std::optional<std::string> const& run_folder,
                                    RoundView const& view);

// That the disk did not answer in time.
Error disk_is_silent(AgentSetup const& setup, Duration patience);

}  // namespace muster::launch
