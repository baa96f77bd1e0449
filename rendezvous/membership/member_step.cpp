// SPDX-License-Identifier: Apache-2.0
// What each event means to a member.

#include "rendezvous/membership/member_step.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/member_turn.hpp"
#include "rendezvous/membership/voter_step.hpp"

#include <algorithm>
#include <utility>

namespace muster::membership {

using namespace member;

void MemberTurn::take(Event const& event) {
  std::visit(
      Overload{[this](Connected const&) { connected(); },
               [this](Disconnected const&) { disconnected(); }, [this](Heard const& e) { hear(e); },
               [this](PeerSaid const& e) { peer_said(e); },
               [this](StoreIsOpen const& e) {
                 // Of two that were being opened the older one may be open last.
                 if (!state_.store || state_.store->round < e.result.round) state_.store = e.result;
                 say(e.result);
               },
               [this](PeersProbed const& e) {
                 if (e.result.round != state_.probing || e.result.attempt != state_.probe_attempt)
                   return;
                 state_.probed = e.result;
                 say(e.result);
               },
               [this](WorkersFailed const& e) { failed(e.failure, e.at); },
               [this](WorkersDone const& e) {
                 if (e.round != state_.running) return;
                 state_.done = e.round;
                 say(Done{e.round});
               },
               [this](WorkersStopped const& e) { workers_stopped(e); },
               [this](LeaveWanted const& e) { leave(e.leave); }, [](Tick const&) {}},
      event);
}

void MemberTurn::connected() {
  state_.connected = true;
  state_.with_host = false;
  say(Join{state_.facts, state_.job, status_of(state_), state_.backend, state_.row, state_.former});
  if (state_.leaving) say(*state_.leaving);
}

// Whoever has no place may have that of a host that is lost: it asks at once who hosts now.
// Whatever else is called and hangs up was no host.
void MemberTurn::disconnected() {
  state_.connected = false;
  auto const had_host = std::exchange(state_.with_host, false);
  if (!had_host || !has_lost_touch()) return;
  state_.next_ask = now_;
  ask_voters();
}

bool MemberTurn::has_lost_touch() const {
  return state_.phase == MemberPhase::joining && state_.waiting && !state_.connected &&
         state_.job.leases && state_.job.succession;
}

// From whoever is called as the host. Votes and news of other hosts are heard whatever reign the
// speaker thinks of; orders only from the newest.
void MemberTurn::hear(Heard const& event) {
  auto const& header = event.header;
  if (auto const* request = std::get_if<VoteRequest>(&event.message))
    return say(give_vote(header, *request));
  if (auto const* is = std::get_if<HostIs>(&event.message)) return host_is(*is);
  auto const older = header.generation < state_.generation ||
                     (header.generation == state_.generation && header.epoch < state_.epoch);
  // Without a record it is bound to nobody: the host heard first may have been born in vain.
  auto const unbound = !state_.voter.prepared && std::holds_alternative<Welcome>(event.message);
  if (older && state_.welcome && !unbound) return;
  if (state_.phase == MemberPhase::told) {
    if (std::holds_alternative<Outcome>(event.message)) say(OutcomeAck{});
    if (std::holds_alternative<Released>(event.message)) end(Conclude{*state_.outcome});
    return;
  }
  if (auto const* greeting = std::get_if<Welcome>(&event.message))
    return welcome(header, *greeting);
  if (state_.welcome && header.incarnation == state_.host) state_.host_heard = now_;
  obey(header, event.message);
}

void MemberTurn::obey(Header const& header, Message const& message) {
  if (header.incarnation == state_.host) {
    state_.generation = header.generation;
    state_.epoch = header.epoch;
  }
  std::visit(
      Overload{[this](Ack const& m) { acknowledged(m); },
               [this](Waiting const& m) {
                 auto const news = !state_.waiting || state_.waiting->text != m.text;
                 state_.waiting = m;
                 if (news && !m.text.empty()) effects_.push_back(Tell{m.text});
               },
               [this](OpenStore const& m) { open_store(m); }, [this](Probe const& m) { probe(m); },
               [this](Prepare const& m) { prepare(m); }, [this](Commit const& m) { commit(m); },
               [this](Stop const& m) {
                 std::optional<Duration> grace;
                 if (m.grace_ns) grace = Duration{*m.grace_ns};
                 stop(m.round, grace, m.why);
               },
               [this](Outcome const& m) { outcome(m); },
               [&](Refused const& m) { refused(header.incarnation, m); },
               [this](Evicted const& m) { evicted(m); },
               [&](Resigned const&) {
                 if (header.incarnation == state_.host) host_gone();
               },
               [](auto const&) {}},  // what only a member says
      message);
}

void MemberTurn::peer_said(PeerSaid const& event) {
  auto const from = event.header.incarnation;
  std::visit(Overload{[&](Ask const& m) { asked_by_peer(event.header, m); },
                      [&](Answer const& m) { answered(from, m); },
                      [&](VoteRequest const& m) {
                        effects_.push_back(Reply{from, give_vote(event.header, m)});
                      },
                      [&](VoteReply const& m) { vote_came(from, m); },
                      [&](HostIs const& m) { host_is(m); },
                      [&](LastWord const& m) { last_word(event.header, m); },
                      [&](Outcome const& m) {
                        if (event.header.generation != state_.generation || state_.leaving) return;
                        if (state_.phase == MemberPhase::taking_part) end(Conclude{m});
                      },
                      [](auto const&) {}},
             event.message);
}

void MemberTurn::welcome(Header const& header, Welcome const& message) {
  auto const leases = state_.job.leases;
  auto const same_reign = header.generation == state_.generation && header.epoch == state_.epoch;
  state_.job = message.job;
  state_.job.leases = leases && message.job.leases;
  // A host that came to nothing may have counted further than this one.
  if (!same_reign) {
    state_.opening = state_.probing = {};
    state_.store.reset();
  }
  // What a world that came to nothing had prepared says nothing about this one.
  if (header.generation != state_.voter.generation && !state_.voter.committed) state_.voter = {};
  state_.generation = header.generation;
  state_.epoch = header.epoch;
  state_.host = header.incarnation;
  if (state_.host_seat.node != state_.host) state_.host_seat = {state_.host, {}, {}, 0};
  state_.host_seat.host = message.host;
  if (state_.voter.prepared)
    for (auto const& seat : state_.voter.prepared->record.voters)
      if (seat.node == state_.host) state_.host_seat = seat;
  if (state_.voter.generation != header.generation) state_.voter.promised = {};
  state_.voter.generation = header.generation;
  state_.voter.promised = std::max(state_.voter.promised, header.epoch);
  state_.with_host = true;
  state_.host_heard = now_;
  state_.host_stamp = 0;
  state_.host_left = false;
  state_.candidacy.reset();
  state_.stand_at = TimePoint::max();
  state_.failure_seen = false;
  // The candidate that has our vote reigns: should it be lost, another one may have it at once.
  if (header.epoch >= state_.voter.voted) state_.voted_at = TimePoint::min();
  // What a host promises without a majority is worth nothing; its first acknowledgement will tell.
  if (state_.hostless_until != TimePoint::max())
    state_.hostless_until = now_ + state_.job.join_timeout;
  state_.join_until = TimePoint::max();  // the host knows how long to wait
  state_.said.clear();
  if (!std::exchange(state_.welcome, true)) state_.acked = now_;
  if (state_.dead == Duration::zero()) state_.dead = state_.job.dead;
  state_.word_round.reset();  // it goes to another host now
  keep_last_word();
  if (state_.leaving) say(*state_.leaving);  // said with JOIN, it was for the host before
  lease();
  if (!same_reign) tell_askers(present_host());
}

void MemberTurn::evicted(Evicted const& message) {
  if (state_.evicted) return;
  tell("this node was counted out: " + message.why + "; it joins again");
  state_.evicted = true;
  state_.with_host = false;
  if (!has_workers()) return rejoin();
  stop(state_.running, Duration::zero(), message.why);
}

// Of a member of a world its own host alone may say so: whoever else sits where that was called
// has another job, and no say in this one.
void MemberTurn::refused(Incarnation by, Refused const& message) {
  if (state_.voter.committed && by != state_.host)
    return tell("refused where the host was called: " + message.what + "; calling on");
  end(GiveUp{Error{message.code, message.what, message.hint}});
}

// A new life: nothing that was promised in the old one binds, for nobody counts on it any more.
void MemberTurn::rejoin() {
  MemberState fresh;
  fresh.facts = state_.facts;
  fresh.facts.incarnation = state_.facts.incarnation.next();
  fresh.former = state_.facts.incarnation;
  fresh.job = state_.job;
  fresh.run_id = state_.run_id;
  fresh.backend = state_.backend;
  fresh.endpoint = state_.endpoint;
  fresh.leaving = state_.leaving;
  fresh.leave_until = state_.leave_until;
  fresh.join_until = now_ + state_.job.join_timeout;
  auto const known = state_.host_seat;
  state_ = std::move(fresh);
  call_host(known.address.empty() ? Seat{} : known);
}

void MemberTurn::leave(Leave const& wish) {
  if (state_.leaving) return;
  state_.leaving = wish;
  state_.leave_until = now_ + state_.job.outcome_patience;
  if (state_.connected) return say(wish);
  if (!has_workers() && state_.phase == MemberPhase::joining)
    end(Conclude{Outcome{false, wish.exit_code, wish.why, {}}});
}

void MemberTurn::say(Message message) {
  if (state_.connected) effects_.push_back(Say{std::move(message)});
}

// Once for each answer to "what are we waiting for".
void MemberTurn::tell(std::string text) {
  if (state_.said == text) return;
  state_.said = text;
  // Once it has a host again it says anew what it waits for.
  if (state_.phase == MemberPhase::joining && state_.waiting) state_.waiting->text.clear();
  effects_.push_back(Tell{std::move(text)});
}

void MemberTurn::end(Effect effect) {
  if (state_.phase == MemberPhase::over) return;
  state_.phase = MemberPhase::over;
  effects_.push_back(std::move(effect));
}

std::vector<Effect> MemberTurn::finish() {
  auto const wake = next_wake();
  if (wake != TimePoint::max()) effects_.push_back(WakeAt{wake});
  state_.expected_wake = wake;
  return std::move(effects_);
}

std::vector<Effect> member_step(MemberState& state, Event const& event, TimePoint now) {
  MemberTurn turn(state, now);
  turn.notice_late_wake();
  if (state.phase != MemberPhase::over) turn.take(event);
  turn.look_at_time();
  return turn.finish();
}

std::vector<Effect> member_start(MemberState& state, TimePoint now) {
  state.join_until = now + state.job.join_timeout;
  state.expected_wake = state.join_until;
  return {WakeAt{state.join_until}};
}

Header header_of(MemberState const& state) {
  auto const round = state.voter.committed ? state.voter.committed->round : RoundNumber{};
  return {state.run_id, state.generation, state.epoch, round, state.facts.incarnation, 0};
}

Status status_of(MemberState const& state) {
  Status status;
  if (auto const& prepared = state.voter.prepared) {
    status.prepared = prepared->record.round;
    status.prepared_in = prepared->record.epoch;
  }
  if (auto const& committed = state.voter.committed) {
    status.committed = committed->round;
    status.committed_in = committed->epoch;
  }
  status.stopped = state.stopped;
  status.done = state.done;
  return status;
}

}  // namespace muster::membership
