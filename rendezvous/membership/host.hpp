// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a host knows of one job. All of it that must outlive the host is in `committed`, which the
// voters hold too.

#include "rendezvous/membership/message.hpp"

#include <map>
#include <set>

namespace muster::membership {

enum class Phase {
  gathering,   // members come; nothing was committed yet
  forming,     // a coming round: its store, its PREPARE, the stop of the round before
  running,     // workers run
  ending,      // the outcome is known; workers are being stopped and reports gathered
  concluding,  // the outcome's record is prepared
  telling,     // it is committed; members acknowledge
  over,
};

struct Member {
  NodeFacts facts;
  std::uint64_t arrival = 0;
  TimePoint heard;
  std::string reached_at;  // our address that its connection goes to
  RoundNumber failure_seen;
};

// The round that comes next, until it is committed or dropped.
struct Proposal {
  Record record;  // without its master until the store is open
  Table table;
  bool store_asked = false, store_open = false;
  std::set<Incarnation> prepared;
};

struct Ending {
  RecordOutcome outcome;
  bool by_workers = false;             // the cause is among Host::failures
  TimePoint until = TimePoint::max();  // patience of the present phase
};

struct FailureNote {
  Incarnation node;
  Failure failure;
  TimePoint at;
};

struct Host {
  std::string run_id;
  Generation generation;
  Epoch epoch;
  Incarnation self;
  std::string name;  // of the machine

  Phase phase = Phase::gathering;
  std::map<Incarnation, Member> members;
  std::set<Incarnation> proven_dead;
  std::optional<Record> committed;
  Table table;  // of the last committed round of workers
  std::optional<Proposal> proposal;
  std::optional<Ending> ending;
  std::vector<FailureNote> failures;  // of the last committed round
  Budgets used;
  RoundNumber highest;  // of any record ever proposed

  std::set<Incarnation> to_stop, to_finish, to_acknowledge;  // who still has to
  RoundNumber workers_round;                                 // the last round that had workers
  std::string stop_why;
  std::optional<Duration> stop_grace;

  std::uint64_t arrivals = 0;
  TimePoint gathering_until = TimePoint::max();  // join_timeout after the first join
  TimePoint quiet_until = TimePoint::max(), quiet_at_most = TimePoint::max();
  TimePoint next_scan = TimePoint::max();  // of the leases
  TimePoint expected_wake = TimePoint::max();
};

}  // namespace muster::membership
