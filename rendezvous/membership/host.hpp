// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a host knows of one job. All of it that must outlive the host is in `committed`, which the
// voters hold too; the rest its members tell it again.

#include "rendezvous/membership/message.hpp"
#include "rendezvous/membership/roster.hpp"

#include <map>
#include <set>

namespace muster::membership {

enum class Phase {
  gathering,   // members come: for the first round, or for a next one
  inquiring,   // members of a world that this host knows nothing of have come: it asks for their
               // votes
  resuming,    // elected: the record found is being committed again
  forming,     // a coming round: its store, its PREPARE, the stop of the round before
  running,     // workers run
  ending,      // the outcome is known; workers are being stopped and reports gathered
  concluding,  // the outcome's record is prepared
  telling,     // it is committed; members acknowledge
  over,
};

// A node that could not reach another one: the pair is to blame only if both are alive.
struct Unreached {
  ProbeFailure failure;
  Incarnation target;
  TimePoint at;
  std::uint32_t tries = 0;
};

// The round that comes next, until it is committed or dropped.
struct Proposal {
  Record record;  // without its master until the store is open
  Table table;
  std::vector<Electorate> bases;  // quorums that it needs besides its own
  bool store_asked = false, store_open = false;
  bool tested = false;  // its nodes had a round at the same addresses
  std::set<Incarnation> prepared;
  std::set<Incarnation> probing;               // who still tests whether it reaches its peers
  std::map<Incarnation, Unreached> unreached;  // by who cannot reach somebody
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

// A node that went without proof. Its workers may live until it has been silent for `dead`; no
// round starts before.
struct Ghost {
  TimePoint heard;
  Duration dead{};
  TimePoint rests_at() const { return heard + dead; }
};

// Asking for a reign over a world that began under another host.
struct Inquiry {
  Epoch epoch;
  std::map<Incarnation, VoteReply> votes;
  std::set<Incarnation> asked;
};

struct Host {
  std::string run_id;
  Generation generation;
  Epoch epoch;
  Incarnation self;
  std::string name;  // of the machine

  Phase phase = Phase::gathering;
  Roster members;
  std::set<Incarnation> proven_dead;
  std::optional<Record> committed;
  Table table;  // of the last committed round of workers, as far as it is known
  std::optional<Proposal> proposal;
  std::optional<Inquiry> inquiry;
  std::optional<Ending> ending;
  std::vector<FailureNote> failures;  // of the last committed round
  Budgets used;
  RoundNumber highest;  // of any record ever proposed

  std::set<Incarnation> to_stop, to_finish, to_acknowledge;  // who still has to
  RoundNumber workers_round;                                 // the last round that had workers
  std::string stop_why;
  std::optional<Duration> stop_grace;
  TimePoint started;  // of the workers' round

  // What the next round is for; while it is set, it is sealed as soon as everybody is back.
  std::optional<Reason> next_round;
  std::string change_why;           // of the last change, for people
  bool follows = false;             // a newcomer had another host before
  bool held = false;                // too few nodes were left: a quiet period counts again
  std::uint32_t expected_back = 0;  // rows of the committed round of which nobody has come yet
  TimePoint back_until = TimePoint::max();
  Ghost absent;                  // what holds for each of those
  std::set<Incarnation> spares;  // of the host before, who will find this one in a moment
  TimePoint spares_until = TimePoint::max();
  std::map<Incarnation, Leave> leavers;  // it is not known yet how many would stay
  TimePoint hand_over_until =
      TimePoint::max();  // a host whose own node has left waits for the others
  std::map<Incarnation, Ghost> ghosts;
  TimePoint last_proof = TimePoint::min();     // when a voter's death was last proven
  std::map<Incarnation, NodeFacts> given_up;   // since the last commit; they may come again
  TimePoint last_scaled = TimePoint::min();    // when a newcomer last brought a round
  std::map<Incarnation, TimePoint> confirmed;  // when each voter last held this host for its own

  std::uint64_t arrivals = 0;
  TimePoint gathering_until = TimePoint::max();  // join_timeout after the first join or the loss
  TimePoint quiet_until = TimePoint::max(), quiet_at_most = TimePoint::max();
  TimePoint next_scan = TimePoint::max();  // of the leases
  TimePoint expected_wake = TimePoint::max();
  bool waiting_due = false;  // everybody is owed word of what is waited for
};

}  // namespace muster::membership
