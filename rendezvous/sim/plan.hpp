// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a simulated history is made of: the job, the machines, their network, and what goes wrong.
// Made by hand, from a command line, or from a seed.

#include "rendezvous/base/random.hpp"
#include "rendezvous/membership/settings.hpp"
#include "rendezvous/sim/fault.hpp"

#include <optional>

namespace muster::sim {

// The user's script.
struct Script {
  Duration least_work = std::chrono::seconds{2};  // of a round that nothing disturbs
  Duration most_work = std::chrono::seconds{5};
  bool endless = false;     // until FinishWorkers
  double failure = 0;       // of a node's workers in a round
  bool needs_peers = true;  // no rank ends well alone: it waits for its peers, or fails with them
};

// Where the host is in its work. Clocks seldom find these moments: some last as long as a letter is
// under way.
enum class Moment {
  prepared,    // one voter more has the coming record
  committed,   // it has decided; the others are being told
  concluding,  // the outcome is prepared
  telling,     // it is committed
  resuming,    // a new host commits the record again that it found
};

// A fault that strikes when a host comes to such a moment for the n-th time, and what follows it.
struct MomentFault {
  Moment when = Moment::committed;
  std::uint32_t nth = 1;
  Fault what;
  Duration undone_after{};
  std::optional<Fault> undoing;
};

struct Plan {
  std::uint32_t nodes = 3;  // with agents
  bool daemon = false;      // one node more, which hosts and has no workers
  std::uint32_t places =
      1;  // of the endpoint: nodes h1, h2, ... (the daemon alone if there is one)
  membership::JobSettings job;
  Script script;

  Duration spread = std::chrono::seconds{1};  // of the agents' starts
  Duration start_step{};                      // from one agent's start to the next; `spread` on top
  std::vector<NodeIndex> late;                // agents that only a fault::Start starts

  Duration own_letter = std::chrono::microseconds{10};  // between an agent and its own host
  Duration local_work{};  // least time of a machine to open a store, or to probe peers
  Duration least_delay = std::chrono::microseconds{50};
  fault::Weather weather{std::chrono::milliseconds{2}, 0, 0};
  Duration kill_time = std::chrono::milliseconds{100};  // at most, until a killed worker is reaped
  Duration grace = std::chrono::milliseconds{400};      // at most, for a worker told to stop
  Duration jitter = std::chrono::milliseconds{1};       // of timers
  double drift = 100e-6;                                // of a clock, either way
  bool exact = false;  // nothing is left to chance: everything takes its shortest time
  bool guardian_ends_agent = false;  // that does not run, not its workers alone
  bool through_codec = false;        // letters travel as the control protocol's bytes

  std::vector<TimedFault> faults;
  std::vector<MomentFault> at_moments;  // never so late that they were not over when it is calm
  Duration calm_after{};                // by then every fault is over; 0: after the last one

  // The last agent starts then, at the latest; but for those that are late.
  Duration last_start() const { return spread + (nodes - 1) * start_step; }
};

// Settings as the simulator's worlds use them: times of a real job, but for the long ones.
membership::JobSettings usual_job(std::uint32_t min_nodes, std::uint32_t max_nodes);

// A swarm: each seed draws which kinds of faults its history knows at all, then their number,
// places and times.
Plan random_plan(std::uint64_t seed);

}  // namespace muster::sim
