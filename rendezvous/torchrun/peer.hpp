// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a muster agent knows as one of torchrun's participants: the shared state as it last read it,
// its own seat, what it waits for. A pure value; peer_step changes it.

#include "rendezvous/base/random.hpp"
#include "rendezvous/torchrun/heartbeat_watch.hpp"
#include "rendezvous/torchrun/round_rules.hpp"

namespace muster::torchrun {

struct PeerSettings {
  RoundSizes nodes;
  std::uint32_t max_restarts = 0;  // counted by each agent for itself, as in torchrun
  Duration join_timeout = std::chrono::seconds{600};
  Duration last_call = std::chrono::seconds{30};
  Duration close_timeout = std::chrono::seconds{30};
  Duration keep_alive = std::chrono::seconds{5};
  int keep_alive_attempts = 3;

  Duration dead() const { return keep_alive * keep_alive_attempts; }
};

enum class PeerPhase {
  joining,   // on the way into a round; no workers
  agreeing,  // the round is complete; its members tell each other ranks and the workers' store
  running,
  stopping,  // own workers are being stopped; then joining anew, or parting
  done,      // own workers succeeded; waits for those of the others
  parting,   // last words into the state
  over,
};

struct Seat {
  std::int64_t round = 0;
  std::uint32_t rank = 0;
  std::vector<NodeDesc> members;  // by rank

  friend bool operator==(Seat const&, Seat const&) = default;
};

struct PeerEnd {
  bool closes = false;  // the rendezvous, for everybody and for good
  bool success = false;
  int exit_code = 0;
  std::string why;
  std::vector<std::string> reports;
  std::optional<Error> error;  // instead of all this: the agent cannot take part
};

struct PeerState {
  PeerSettings settings;
  NodeDesc self;
  std::string run_id;
  std::string endpoint;  // for people
  Random chance{0};
  PeerPhase phase = PeerPhase::joining;

  RoundState shared;  // as last read; where we join, without those known to be dead
  std::string token;  // its bytes in the store; empty before the first answer
  std::optional<std::string> written;  // what we tried to put there, until the answer
  bool asking = false;                 // one call at a time
  bool has_met = false;                // there was a state
  int failed_writes = 0;               // in a row
  TimePoint next_look = TimePoint::max();
  TimePoint lost_since = TimePoint::max();  // the store does not answer
  std::optional<Error> last_problem;
  TimePoint beat_at = TimePoint::min();  // own heartbeat, last written
  HeartbeatWatch watch;
  std::optional<PythonTime> deadline_seen;
  TimePoint deadline_due = TimePoint::max();

  bool leaves_first = false;  // the old round, before it joins the next
  TimePoint join_until = TimePoint::max();
  std::vector<NodeDesc> expected;           // members of the round before
  std::set<NodeDesc> lost;                  // of them: not waited for
  std::set<NodeDesc> newcomers;             // who waited for the next round when we last ran
  TimePoint held_until = TimePoint::max();  // see PeerTurn::holds_back
  std::string told;                         // what we wait for, as last said

  std::optional<Seat> seat;             // the last one
  std::optional<NodeDesc> store_owner;  // who holds the workers' store
  std::uint32_t restarts = 0;           // own worker failures charged
  std::map<NodeDesc, TimePoint> gone_since;
  std::vector<NodeDesc> suspects;  // silent, or out of the round without waiting for the next
  std::optional<PeerEnd> ending;
  TimePoint part_until = TimePoint::max();
};

// `now` for every decision; the wall clock only to be written.
struct PeerClock {
  TimePoint now;
  std::int64_t utc_us = 0;
};

}  // namespace muster::torchrun
