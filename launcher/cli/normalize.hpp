// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line with argparse's liberties taken out: abbreviations, underscores, joined short
// options and positionals resolved as Python's argparse does for torchrun (CPython 3.11), so that
// what is left is plain. Pure.

#include "launcher/cli/torchrun_flags.hpp"
#include "rendezvous/base/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster::launch {

struct GivenOption {
  Flag const* flag = nullptr;  // into kFlags
  std::string value;           // empty for toggles
};

struct NormalizedLine {
  std::vector<GivenOption> options;  // in the order given; later ones win
  bool help = false;                 // -h or --help came first; the rest was not looked at
  std::optional<std::string> program;
  std::vector<std::string> args;  // everything after the program, verbatim
};

// Errors: bad_input, as one line for people (unknown option with the nearest known one, ambiguous
// prefix, missing or unwanted value). A missing program is no error here.
//
// Wider than torchrun in two points: a prefix shared only by the two spellings of one option is
// that option (`--nproc 2`), and what stands after the program is never looked at.
Result<NormalizedLine> normalize(std::vector<std::string> const& args);

}  // namespace muster::launch
