// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the thing to run can run at all, asked before anything is started. Pure over a
// FileSystem.

#include "launcher/cli/options.hpp"
#include "launcher/environment/file_system.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/error.hpp"

#include <optional>

namespace muster::launch {

struct EntryProblem {
  Error error;
  int exit_code = 1;  // 127 missing, 126 there but cannot be run
};

// Nothing, if the script can be read (script, run_path) or the command executed (no_python).
// Modules are left to Python.
std::optional<EntryProblem> check_entry(RunOptions const& options, EnvView const& env,
                                        FileSystem const& files);

}  // namespace muster::launch
