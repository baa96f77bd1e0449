// SPDX-License-Identifier: Apache-2.0
// Judgements about silence.

#include "rendezvous/membership/lease.hpp"

#include <cstdio>

namespace muster::membership {

Duration missed_time(TimePoint expected_wake, TimePoint now) {
  if (expected_wake == TimePoint::max() || now <= expected_wake) return Duration::zero();
  auto const gap = now - expected_wake;
  return gap > kLateTick ? gap : Duration::zero();
}

Verdict judge_member(TimePoint heard, TimePoint now, Duration dead) {
  auto const silence = now - heard;
  auto const text = "silent for " + seconds_text(silence) + ", limit " + seconds_text(dead);
  return {silence < dead, text};
}

HostTrust judge_host(TimePoint acked, TimePoint now, Duration dead) {
  auto const silence = now - acked;
  if (silence >= dead) return HostTrust::lost;
  return silence >= fence_of(dead) ? HostTrust::fence : HostTrust::good;
}

std::string seconds_text(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(duration).count());
  return text;
}

std::string counted(std::uint64_t count, std::string const& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace muster::membership
