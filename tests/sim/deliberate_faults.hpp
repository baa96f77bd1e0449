// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checker is tried: faults put between a core and the world, one at a time. Each must be
// caught.

#include "rendezvous/sim/twist.hpp"

#include <memory>
#include <string>
#include <vector>

namespace muster::sim {

struct DeliberateFault {
  std::string name;         // what the core does wrong
  std::set<int> caught_by;  // the invariants that may notice first
  std::shared_ptr<Twist> twist;
};

std::vector<DeliberateFault> deliberate_faults();

}  // namespace muster::sim
