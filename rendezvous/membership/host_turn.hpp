// SPDX-License-Identifier: Apache-2.0
#pragma once
// One call of host_step while it is carried out: the host, the time, and the effects so far. Shared
// by host_step.cpp (what an event means), host_member.cpp (who belongs to it), host_waiting.cpp
// (what those who wait are told), host_round.cpp (the next round), host_probe.cpp (its network),
// host_commit.cpp (its commit), host_reign.cpp (succession) and host_end.cpp (the outcome).

#include "rendezvous/membership/election.hpp"
#include "rendezvous/membership/host_step.hpp"

namespace muster::membership {

class HostTurn {
 public:
  HostTurn(Host& host, TimePoint now, JobSettings const& settings)
      : host_(host), now_(now), settings_(settings) {}

  void notice_late_wake();
  void take(HostEvent const& event);
  void advance();
  HostStep finish();

 private:
  // host_step.cpp: events
  void received(Received const& event);
  void died(Died const& word);
  void from_member(Incarnation from, Message const& message);
  void lease(Incarnation from, Lease const& lease);
  void believe(Incarnation from, std::vector<Vouch> const& vouches);
  void update(Incarnation node, Status const& status);
  void stopped(Incarnation node, Stopped const& note);
  void reconcile(Incarnation node, Status const& status);
  void failed(Incarnation node, Failure const& failure);
  Duration dead_now(Member const& member) const;
  Duration quorum_age() const;
  bool is_voter(Incarnation node) const;
  Why why() const;
  TimePoint next_wake() const;
  void send(Incarnation to, Message message);

  // host_member.cpp: who comes and who goes
  void join(Received const& event, Join const& join);
  Member caller(Received const& event, NodeFacts const& facts);
  void put_row(TableRow const& row, Incarnation node);
  void newcomer(Received const& event, Join const& join);
  void returning(Received const& event, Join const& join);
  void calls_from(Incarnation node, std::string const& address, NodeFacts const& facts);
  void admit(Incarnation node, Member member);
  void supersede(Join const& join);
  bool is_needed(Incarnation node) const;
  void keep_for_its_vote(Received const& event, NodeFacts const& facts);
  void watch_over(Incarnation node, Status const& status);
  void count_out_voters();
  void leave(Incarnation node, Leave const& leave);
  bool try_let_go();
  void leave_alone(Incarnation node, std::int32_t exit_code, std::string const& why);
  void release(Incarnation node);
  void give_up_absent();
  bool in_proposal(Incarnation node) const;
  void drop_proposal(Reason reason, std::string const& why);
  void lost(Incarnation node, std::string const& why);
  void lost_in_ending(std::string const& why);
  void scan_leases();

  // host_waiting.cpp: what those who wait are told
  void say_waiting(std::optional<Incarnation> newcomer);
  void tell_spares();
  void send_waiting(std::vector<Incarnation> const& nodes);
  std::vector<Incarnation> everybody_here() const;
  std::string waiting_text(Member const& member) const;
  std::string waiting_beside_a_round() const;
  std::string names_here() const;

  // host_round.cpp: the rules of rounds
  bool step();
  bool try_seal();
  bool enough_for_first(std::size_t count) const;
  bool awaits_cause() const;
  bool react_to_failure();
  bool try_scale();
  TimePoint next_scaling() const;
  void change_round(Reason reason, std::string why);
  void charge(Reason reason);
  void begin_round(Reason reason);
  std::vector<NodeFacts> choose_nodes() const;
  Seats voters_of(Table const& table) const;
  std::optional<Error> choose_addresses(Table& table) const;
  void give_up_gathering();
  void give_up_holding();
  void refuse_all(Error const& error);
  void after_departure();
  void stop_workers(std::string const& why, std::optional<Duration> grace);
  bool awaits_return() const;
  bool awaits_spares(std::size_t count) const;

  // host_probe.cpp: whether the nodes of a coming round reach each other
  void send_probes();
  void send_probe(std::size_t rank);
  void send_probe_again(Incarnation node);
  ProbeTarget probe_target(std::size_t rank) const;
  void probed(Incarnation node, Probed const& result);
  bool judge_unreached();
  std::string unreached_text(Incarnation node, ProbeFailure const& failure) const;

  // host_commit.cpp: store, PREPARE, COMMIT
  bool try_open_store();
  void admit_to_store(Incarnation node);
  void store_opened(Incarnation node, StoreOpened const& opened);
  bool try_commit();
  void adopt_round();
  void send_prepare(Incarnation node);
  void send_commit(TableRow const& row);
  bool votes_on_proposal(Incarnation node) const;
  bool agreed(std::set<Incarnation> answered, std::set<Incarnation> const& counted_out) const;
  bool votes_suffice() const;
  bool living_suffice() const;
  bool ghosts_rest() const;
  TableRow const* row_of(Incarnation node) const;
  std::optional<std::size_t> rank_in(Table const& table, Incarnation node) const;
  std::string host_of(Incarnation node) const;

  // host_reign.cpp: succession
  void inquire(Received const& event, Join const& join);
  void renew_reign(Epoch above);
  void ask_for_vote(Incarnation node);
  bool has_voted(Incarnation node) const;
  void vote(Incarnation from, VoteReply const& reply);
  void take_mandate(Mandate const& mandate);
  bool try_resume();
  void check_resumed(Incarnation node, Member const& member);
  void overruled(HostIs const& by);
  void yield_to(HostIs const& by);
  bool try_hand_over();
  void resign();

  // host_end.cpp: the outcome
  void end(RecordOutcome outcome);
  bool try_succeed();
  void blame_workers();
  std::string cause_text() const;
  bool try_conclude();
  bool try_commit_outcome();
  bool try_finish();
  void tell(Incarnation node);
  Outcome outcome_message() const;

  Host& host_;
  TimePoint now_;
  JobSettings const& settings_;
  std::vector<Send> sends_;
  bool finished_ = false;
  std::optional<HostIs> successor_;
  std::optional<Outcome> outcome_;
};

// By which a member is reached from other machines: never a loopback address while a peer came from
// elsewhere.
std::string reachable_address(Incarnation node, NodeFacts const& facts, Roster const& members);
bool is_loopback(std::string_view address);

// The index of the cause in `failures`: real ones before consequences, then the earliest.
std::size_t root_cause(std::vector<FailureNote> const& failures);

}  // namespace muster::membership
