// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line and the PET_* variables of `muster run` to RunOptions, or to what is to be
// printed instead. No effects; parse.cpp is the only launcher file that includes CLI11.

#include "launcher/cli/options.hpp"
#include "rendezvous/base/env_view.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::launch {

struct Caller {
  std::string_view program;       // how the user called us, for texts: "muster run", "torchrun"
  std::string_view fresh_run_id;  // for a job of one node that was given no id
};

// The program ends now: print `out` on stdout, `err` on stderr, and exit with `code`.
struct EarlyExit {
  int code = 0;
  std::string out;
  std::string err;
};

using ParseOutcome = std::variant<RunOptions, EarlyExit>;

// `args` is what follows the program. Usage errors: code 2 with usage; a value that cannot be
// right: code 1 and one line with the remedy; --help: 0.
ParseOutcome parse_run(Caller const& caller, std::vector<std::string> const& args,
                       EnvView const& env);

}  // namespace muster::launch
