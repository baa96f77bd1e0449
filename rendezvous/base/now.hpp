// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clock itself: for shells only (scripts/check_layers keeps it out of the cores).

#include "rendezvous/base/clock.hpp"

#include <cstdint>

namespace muster {

// CLOCK_BOOTTIME.
TimePoint now();

// CLOCK_REALTIME in nanoseconds since 1970: to be shown to people, never to be compared.
std::int64_t wall_clock_ns();

// A deadline `after` from now.
Deadline deadline_in(Duration after);

}  // namespace muster
