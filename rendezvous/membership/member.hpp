// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one agent knows of its job: its place, its lease, how far its workers are, what it keeps as
// a voter, and its candidacy when the host is silent. Events and effects: member_effect.hpp.

#include "rendezvous/membership/election.hpp"
#include "rendezvous/membership/voter.hpp"

#include <optional>
#include <vector>

namespace muster::membership {

enum class MemberPhase {
  joining,      // until the first COMMIT, and again after an eviction
  taking_part,  // has had a place
  told,         // the outcome is known; it stays until everybody is, for those who ask
  over,
};

// Standing for a reign.
struct Candidacy {
  Epoch epoch;
  bool trial = true;  // would they? Only then the votes themselves are asked for
  TimePoint until;    // another try is due then
  Votes votes;
  std::set<Incarnation> asked;
};

struct MemberState {
  NodeFacts facts;
  JobSettings job;  // its own until WELCOME, then the job's
  std::string run_id, backend;
  std::string endpoint;  // for people
  Generation generation;
  Epoch epoch;

  MemberPhase phase = MemberPhase::joining;
  bool connected = false;  // to somebody who is called as the host
  bool welcome = false;    // it has a host, heard or not
  bool with_host = false;  // on the present connection
  Incarnation host;
  Seat host_seat;       // without an address: the endpoint's
  Incarnation calling;  // who was called last as the host
  TimePoint called = TimePoint::min();
  Voter voter;
  std::optional<TableRow> row;     // of the last committed round that named us
  std::optional<Waiting> waiting;  // who is there, as last told
  std::string said;                // the last line for people about who is silent

  TimePoint join_until = TimePoint::max();
  TimePoint acked = TimePoint::max();  // this lease is certain: everything decided since knows it
  TimePoint host_heard = TimePoint::max();      // when anything last came from the host
  TimePoint hostless_until = TimePoint::max();  // waiting for a host, or a quorum, ends then
  TimePoint next_lease = TimePoint::max(), next_ask = TimePoint::min();
  TimePoint leave_until = TimePoint::max(), told_until = TimePoint::max();
  TimePoint expected_wake = TimePoint::max();
  std::int64_t acked_stamp = -1, host_stamp = 0;
  Duration dead{};                            // the limit that holds between the host and us
  std::map<Incarnation, TimePoint> answered;  // by voter: our newest ASK that it granted
  std::optional<Candidacy> candidacy;
  TimePoint stand_at = TimePoint::max();
  TimePoint voted_at = TimePoint::min();
  std::map<Incarnation, TimePoint> spares;  // without a place, and when each asked us who hosts
  bool host_left = false;                   // by its last word, or its own
  // After a pause of our own: workers are stopped, and somebody has until then to acknowledge us.
  TimePoint ask_until = TimePoint::min();
  bool asked = false, paused = false;
  std::optional<RoundNumber> word_round;  // of the last word that the guardian keeps
  Epoch word_epoch;
  Seats word_voters;

  RoundNumber running;  // whose workers were started last
  RoundNumber stopped, done;
  std::uint32_t unclean = 0;  // workers that could not be killed
  RoundNumber stop_asked;     // a stop of rounds up to this one is under way
  RoundNumber opening;        // a store is being opened for this round
  std::optional<StoreOpened> store;
  RoundNumber probing;
  std::uint32_t probe_attempt = 0;
  std::optional<Probed> probed;
  std::optional<Failure> failure;  // of the running round; told to every host until it answers
  TimePoint failure_at;
  bool failure_seen = false;
  std::optional<Leave> leaving;
  std::optional<Outcome> outcome;
  bool fenced = false;
  bool evicted = false;  // comes again as a newcomer once its workers are dead
  Incarnation former;    // of the life that ended so
};

}  // namespace muster::membership
