// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who is alive, who must fence, and what a late tick means. Times are of one host's own clock.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/membership/settings.hpp"

#include <cstdint>
#include <string>

namespace muster::membership {

// How long we were not running: how far `now` is past the moment that we had asked to be woken at.
// Zero unless that is more than a busy machine explains.
Duration missed_time(TimePoint expected_wake, TimePoint now);

struct Verdict {
  bool alive = true;
  std::string why;
};
// A member, seen by its host.
Verdict judge_member(TimePoint heard, TimePoint now, Duration dead);

enum class HostTrust {
  good,
  fence,  // stop the workers without grace: the others may start without us soon
  lost,   // whatever was promised to us holds no longer
};
// The host, seen by a member: `acked` is when the last acknowledged lease was sent.
HostTrust judge_host(TimePoint acked, TimePoint now, Duration dead);

// "5.1 s": one decimal.
std::string seconds_text(Duration duration);
// "1 node", "2 nodes".
std::string counted(std::uint64_t count, std::string const& noun);

}  // namespace muster::membership
