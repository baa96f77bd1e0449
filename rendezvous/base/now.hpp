// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock itself: for shells only (scripts/check_layers keeps it out of the cores).

#include "rendezvous/base/clock.hpp"

namespace muster {

// CLOCK_BOOTTIME.
TimePoint now();

// A deadline `after` from now.
Deadline deadline_in(Duration after);

}  // namespace muster
