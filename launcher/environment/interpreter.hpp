// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which Python runs the script, chosen without starting any. Pure over a FileSystem.

#include "launcher/environment/file_system.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"

#include <string>

namespace muster::launch {

struct Interpreter {
  std::string path;     // as it will be executed (not resolved: a venv's link must stay a link)
  std::string reason;   // "VIRTUAL_ENV", "beside torchrun", "python3 in PATH": for --log-level=info
  std::string version;  // "3.11" or "3.11.2"; empty where no file tells
};

// Order: PYTHON_EXEC, python beside the name we were called by (`called_as`, argv[0]; only where
// its parent folder holds pyvenv.cfg or conda-meta), VIRTUAL_ENV, CONDA_PREFIX, python3, python.
// Errors: not_found, naming what was looked for.
Result<Interpreter> choose_interpreter(EnvView const& env, std::string const& called_as,
                                       FileSystem const& files);

}  // namespace muster::launch
