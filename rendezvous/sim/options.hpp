// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of muster simulate.

#include "rendezvous/sim/plan.hpp"

#include <string>
#include <variant>

namespace muster::sim {

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;  // so many, from `seed` on; more than one: no stories but of failures
  bool trace = false;       // every message, too
  bool drawn = false;       // job, machines and faults are drawn from the seed, as the tests do
  Plan plan;                // else
};

// The program is over before it began: --help, or a usage error (already printed).
struct Exit {
  int code = 0;
};

std::variant<Options, Exit> parse(int argc, char** argv);

// What this seed plays.
Plan plan_for(Options const& options, std::uint64_t seed);

}  // namespace muster::sim
