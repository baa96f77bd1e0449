// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a job's members must agree on, and the times of its rendezvous. Every agent sends its own in
// JOIN; the first one's hold for the job, and a contradiction is refused.

#include "rendezvous/base/clock.hpp"

#include <chrono>
#include <cstdint>

namespace muster::membership {

struct JobSettings {
  std::uint32_t min_nodes = 1, max_nodes = 1;
  std::uint32_t max_restarts = 0;  // worker failures allowed, job-wide
  bool given_ranks = false;        // static: each node names its own rank
  bool store_at_endpoint = false;  // static: the workers' store is at the endpoint's own port, so
                                   // it is renewed only when all old workers are dead
  bool leases = true;              // false in one process: host and member cannot lose each other
  bool succession = true;          // another agent may become host; false for static
  std::uint32_t expected = 0;      // nodes that are known to come: start when they are there
  std::uint32_t most_changes = 1'000;  // membership changes allowed, job-wide

  Duration quiet = std::chrono::seconds{3};  // below MAX: start this long after the last newcomer
  Duration join_timeout = std::chrono::seconds{600};
  Duration lease_every = std::chrono::seconds{1};
  // A member silent for so long is lost: where the job can go on without it, and where it cannot,
  // so that nothing is won by haste. It has killed its workers before (fence_of).
  Duration dead = std::chrono::seconds{5}, dead_at_min = std::chrono::seconds{60};
  Duration scale_interval = std::chrono::seconds{30};   // between rounds that newcomers bring
  Duration commit_patience = std::chrono::seconds{1};   // for an outcome's quorum
  Duration outcome_patience = std::chrono::seconds{5};  // for the members' acknowledgements

  friend bool operator==(JobSettings const&, JobSettings const&) = default;
};

// What no agent asks for, but whoever reaches the port may: a world of nobody, or no time to
// answer.
constexpr bool is_possible(JobSettings const& job) {
  return job.min_nodes > 0 && job.min_nodes <= job.max_nodes &&
         job.lease_every > Duration::zero() && job.dead > Duration::zero();
}

// Newcomers prolong the quiet period, but never beyond this many times its length.
inline constexpr int kMostQuietPeriods = 10;

// A tick that comes later than this says that we were not running: leases are extended by the gap.
inline constexpr Duration kLateTick = std::chrono::milliseconds{300};

// A member unacknowledged for so long kills its workers: in good time before it counts as lost.
constexpr Duration fence_of(Duration dead) {
  constexpr Duration kMostAhead = std::chrono::seconds{5};
  return dead - (dead / 5 < kMostAhead ? dead / 5 : kMostAhead);
}

// Voters are heard this many times as often as others: the host's own right to decide hangs on
// them.
inline constexpr int kVoterLeases = 4;

// Candidates stand one after another, so that two seldom divide the votes.
inline constexpr Duration kCandidateStep = std::chrono::milliseconds{150};

// A round that a loss ends sooner than this made no progress that muster could see.
inline constexpr Duration kBriefRound = std::chrono::seconds{10};
inline constexpr std::uint32_t kMostBriefRounds = 16;

}  // namespace muster::membership
