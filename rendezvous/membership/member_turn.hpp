// SPDX-License-Identifier: Apache-2.0
#pragma once
// One call of member_step while it is carried out. Shared by member_step.cpp (what an event means),
// member_work.cpp (rounds and their end), member_lease.cpp (time) and member_reign.cpp (votes and
// changes of the host).

#include "rendezvous/membership/member_effect.hpp"
#include "rendezvous/membership/member_step.hpp"

namespace muster::membership {

class MemberTurn {
 public:
  MemberTurn(MemberState& state, TimePoint now) : state_(state), now_(now) {}

  void notice_late_wake();
  void take(member::Event const& event);
  void look_at_time();
  std::vector<member::Effect> finish();

 private:
  // member_step.cpp
  void connected();
  void disconnected();
  bool has_lost_touch() const;  // without a place, and without a connection to its host
  void hear(member::Heard const& event);
  void obey(Header const& header, Message const& message);
  void peer_said(member::PeerSaid const& event);
  void welcome(Header const& header, Welcome const& message);
  void refused(Incarnation by, Refused const& message);
  void evicted(Evicted const& message);
  void rejoin();
  void leave(Leave const& wish);
  void say(Message message);
  void tell(std::string text);
  void end(member::Effect effect);
  bool has_workers() const { return state_.running > state_.stopped; }

  // member_work.cpp
  void open_store(OpenStore const& message);
  void probe(Probe const& message);
  void prepare(Prepare const& message);
  void commit(Commit const& message);
  void resumed(RoundNumber round);
  void give_round_back();
  void stop(RoundNumber round, std::optional<Duration> grace, std::string const& why);
  void workers_stopped(member::WorkersStopped const& event);
  void failed(Failure failure, TimePoint at);
  void outcome(Outcome const& message);
  void keep_last_word();

  // member_lease.cpp
  void lease();
  void acknowledged(Ack const& ack);
  void believe_until(TimePoint acked);
  void answered(Incarnation voter, Answer const& answer);
  Seats seats_that_know() const;
  void ask_voters();
  void judge_lease();
  bool has_lease() const;
  void fence();
  std::string whom_it_lacks() const;
  void lose_host();
  void join_timed_out();
  bool misses_host() const;
  Duration missed_after() const;
  Duration host_age() const;  // since it was last heard with a majority behind it
  TimePoint next_miss() const;
  Duration lease_every() const;
  TimePoint next_wake() const;

  // member_reign.cpp
  std::optional<std::size_t> place_in_line() const;
  HostSilence silence(Incarnation candidate) const;
  VoteReply give_vote(Header const& candidate, VoteRequest const& request);
  void miss_host();
  void stand();
  void ask_for_votes();
  void vote_came(Incarnation from, VoteReply const& reply);
  void count_votes();
  void announce_reign(Host const& host);
  void tell_askers(HostIs const& news);
  Duration spares_count_for() const;
  void forget_old_spares();
  std::set<Incarnation> spares_that_asked() const;
  void host_is(HostIs const& message);
  void call_host(Seat const& seat);
  void host_gone();
  void forget_host();
  void asked_by_peer(Header const& header, Ask const& ask);
  void last_word(Header const& header, LastWord const& word);
  HostIs present_host() const;

  MemberState& state_;
  TimePoint now_;
  std::vector<member::Effect> effects_;
};

}  // namespace muster::membership
