// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line and the PET_* variables of `muster run` to RunOptions, or to what is to be
// printed instead. Pure but for what CLI11 does inside; parse.cpp is the only launcher file that
// includes CLI11.

#include "launcher/cli/options.hpp"
#include "rendezvous/base/env_view.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::launch {

// The program ends now: print `out` on stdout, `err` on stderr, and exit with `code`.
struct EarlyExit {
  int code = 0;
  std::string out;
  std::string err;
};

using ParseOutcome = std::variant<RunOptions, EarlyExit>;

// `program` is how the user called us ("muster run", "torchrun"), for texts. `args` is what follows
// it. Usage errors: code 2 with usage; a value that cannot be right: code 1 and one line; --help:
// 0.
ParseOutcome parse_run(std::string_view program, std::vector<std::string> const& args,
                       EnvView const& env);

}  // namespace muster::launch
