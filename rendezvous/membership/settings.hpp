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

  Duration quiet = std::chrono::seconds{3};  // below MAX: start this long after the last newcomer
  Duration join_timeout = std::chrono::seconds{600};
  Duration lease_every = std::chrono::seconds{1};
  Duration fence = std::chrono::seconds{4};  // a member unacknowledged so long kills its workers
  Duration dead = std::chrono::seconds{5};   // a member silent so long is lost
  Duration commit_patience = std::chrono::seconds{1};   // for an outcome's quorum
  Duration outcome_patience = std::chrono::seconds{5};  // for the members' acknowledgements

  friend bool operator==(JobSettings const&, JobSettings const&) = default;
};

// Newcomers prolong the quiet period, but never beyond this many times its length.
inline constexpr int kMostQuietPeriods = 10;

// A tick that comes later than this says that we were not running: leases are extended by the gap.
inline constexpr Duration kLateTick = std::chrono::milliseconds{300};

}  // namespace muster::membership
