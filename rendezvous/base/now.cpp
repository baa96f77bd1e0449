// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/now.hpp"

#include <ctime>

namespace muster {

TimePoint now() {
  timespec ts{};
  ::clock_gettime(CLOCK_BOOTTIME, &ts);
  return TimePoint{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
}

std::int64_t wall_clock_ns() {
  timespec ts{};
  ::clock_gettime(CLOCK_REALTIME, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

Deadline deadline_in(Duration after) {
  return Deadline{now() + after};
}

}  // namespace muster
