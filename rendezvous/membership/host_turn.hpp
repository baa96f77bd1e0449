// SPDX-License-Identifier: Apache-2.0
#pragma once
// One call of host_step while it is carried out: the host, the time, and the effects so far. Shared
// by host_step.cpp (what an event means), host_round.cpp (rounds) and host_end.cpp (the outcome).

#include "rendezvous/membership/host_step.hpp"

namespace muster::membership {

class HostTurn {
 public:
  HostTurn(Host& host, TimePoint now, JobSettings const& settings)
      : host_(host), now_(now), settings_(settings) {}

  // host_step.cpp: events
  void notice_late_wake();
  void take(HostEvent const& event);
  HostStep finish();

  // host_round.cpp: the rules of rounds
  void advance();

 private:
  void received(Received const& event);
  void join(Received const& event, Join const& join);
  void newcomer(Received const& event, Join const& join);
  void update(Incarnation node, Status const& status);
  void reconcile(Incarnation node, Status const& status);
  void failed(Incarnation node, Failure const& failure);
  void leave(Incarnation node, Leave const& leave);
  void lost(Incarnation node, std::string const& why);
  void scan_leases();
  void say_waiting(std::optional<Incarnation> newcomer);
  void refuse_all(Error const& error);

  bool step();
  bool try_seal();
  bool try_open_store();
  bool try_commit();
  bool react_to_failure();
  void begin_round(Reason reason);
  void give_up_gathering();
  void after_departure();
  void store_opened(Incarnation node, StoreOpened const& opened);
  void stop_workers(std::string const& why, std::optional<Duration> grace);
  void send_prepare(Incarnation node);
  void send_commit(TableRow const& row);
  bool votes_suffice() const;
  std::string host_of(Incarnation node) const;  // by the last round's table

  void end(RecordOutcome outcome);
  bool try_succeed();
  void blame_workers();
  std::string cause_text() const;
  bool try_conclude();
  bool try_commit_outcome();
  bool try_finish();
  void tell(Incarnation node);
  Outcome outcome_message() const;

  Why why() const;
  TimePoint next_wake() const;
  void send(Incarnation to, Message message);

  Host& host_;
  TimePoint now_;
  JobSettings const& settings_;
  std::vector<Send> sends_;
  bool finished_ = false;
};

// The address of rank 0's node that its peers can dial: never a loopback one while a peer came from
// elsewhere.
std::string master_address(Table const& table, std::map<Incarnation, Member> const& members);
bool is_loopback(std::string_view address);

// The index of the cause in `failures`: real ones before consequences, then the earliest.
std::size_t root_cause(std::vector<FailureNote> const& failures);

}  // namespace muster::membership
