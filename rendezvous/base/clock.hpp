// SPDX-License-Identifier: Apache-2.0
#pragma once
// Points in time as cores see them. Nothing here reads a clock: shells do (net/clock.hpp, worker
// threads), simulations make time up. The epoch is CLOCK_BOOTTIME's, which goes on through suspend;
// only differences mean something.

#include <chrono>

namespace muster {

using Duration = std::chrono::nanoseconds;

struct BootClock {  // tag of the time line; has no now() on purpose
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using TimePoint = BootClock::time_point;

// An absolute point after which waiting is over. Made once at the edge, passed down.
struct Deadline {
  TimePoint at = TimePoint::max();

  static constexpr Deadline never() { return {}; }
  constexpr bool passed(TimePoint now) const { return now >= at; }
  constexpr Duration left(TimePoint now) const { return now >= at ? Duration::zero() : at - now; }
};

}  // namespace muster
