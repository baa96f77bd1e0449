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

Verdict judge_member(TimePoint heard, TimePoint now, JobSettings const& settings) {
  if (!settings.leases) return {true, "in this process"};
  auto const silence = now - heard;
  if (silence < settings.dead) return {true, "heard " + seconds_text(silence) + " ago"};
  return {false, "silent for " + seconds_text(silence) + ", limit " + seconds_text(settings.dead)};
}

HostTrust judge_host(TimePoint acked, TimePoint now, JobSettings const& settings) {
  if (!settings.leases) return HostTrust::good;
  auto const silence = now - acked;
  if (silence >= settings.dead) return HostTrust::lost;
  return silence >= settings.fence ? HostTrust::fence : HostTrust::good;
}

std::string seconds_text(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(duration).count());
  return text;
}

}  // namespace muster::membership
