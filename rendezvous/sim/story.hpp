// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words for a history: moments, letters, faults.

#include "rendezvous/control/codec.hpp"
#include "rendezvous/sim/fault.hpp"

#include <string>

namespace muster::sim {

// "  12.345678" seconds.
std::string moment_text(Duration since_beginning);

// "COMMIT round 3 epoch 1 (4 nodes)": the name, and what matters most of it.
std::string describe(control::Letter const& letter);

// "2.5s".
std::string duration_text(Duration duration);

}  // namespace muster::sim
