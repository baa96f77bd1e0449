// SPDX-License-Identifier: Apache-2.0
// Time: leases from the host, or from a quorum of voters while it is silent; what is done when
// neither comes. Looked at in one place, look_at_time.

#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/member_turn.hpp"
#include "rendezvous/membership/quorum.hpp"
#include "rendezvous/membership/voter_step.hpp"

#include <algorithm>
#include <utility>

namespace muster::membership {

using namespace member;

namespace {

// A late agent asks for so long before it takes its lease for lost.
constexpr Duration kAskAgain = std::chrono::seconds{2};
// Past the host's own join deadline, so that its answer, which names who came, is the one shown.
constexpr Duration kHostSpeaksFirst = std::chrono::seconds{2};
constexpr Duration kVouchFor = std::chrono::seconds{120};
// A broken connection is called again at once; where workers run only a longer absence is worth a
// question to others.
constexpr Duration kMissedAfter = std::chrono::milliseconds{1'500};

}  // namespace

// We were not running (SIGSTOP, a suspended machine). Nobody's silence is known; workers wait until
// somebody says that this node still counts.
void MemberTurn::notice_late_wake() {
  auto const gap = missed_time(state_.expected_wake, now_);
  if (gap == Duration::zero() || state_.acked == TimePoint::max()) return;
  state_.next_lease = state_.next_ask = now_;
  if (state_.host_heard != TimePoint::max())
    state_.host_heard = std::min(now_, state_.host_heard + gap);
  if (state_.stand_at != TimePoint::max()) state_.stand_at += gap;
  auto const trust = judge_host(state_.acked, now_, state_.dead);
  // Once: a machine that is always late must fence, too.
  if (trust == HostTrust::good || std::exchange(state_.asked, true)) return;
  state_.ask_until = now_ + kAskAgain;
  if (has_workers() && !std::exchange(state_.paused, true)) effects_.push_back(PauseWorkers{});
}

Duration MemberTurn::lease_every() const {
  auto const& voter = state_.voter;
  auto const votes =
      voter.prepared && is_among(voter.prepared->record.voters, state_.facts.incarnation);
  return votes ? state_.job.lease_every / kVoterLeases : state_.job.lease_every;
}

void MemberTurn::lease() {
  if (!state_.job.leases || !state_.with_host) return;
  Lease message;
  message.stamp_ns = now_.time_since_epoch().count();
  // Who has promised itself to a later reign holds this host for its own no more.
  if (state_.voter.promised <= state_.epoch) message.host_stamp_ns = state_.host_stamp;
  message.dead_ns = state_.dead.count();
  message.status = status_of(state_);
  message.vouches = vouches(state_.voter, now_, kVouchFor);
  say(std::move(message));
  forget_old_spares();
  if (state_.failure && !state_.failure_seen)
    failed(*std::exchange(state_.failure, std::nullopt), state_.failure_at);
  state_.next_lease = now_ + lease_every();
}

// The host's word is worth as much as its own certainty to be the host still.
void MemberTurn::acknowledged(Ack const& ack) {
  if (ack.stamp_ns > state_.acked_stamp) {
    state_.acked_stamp = ack.stamp_ns;
    believe_until(TimePoint{Duration{ack.stamp_ns}} - Duration{ack.quorum_age_ns});
  }
  state_.host_stamp = std::max(state_.host_stamp, ack.host_stamp_ns);
  if (ack.dead_ns > 0) state_.dead = Duration{ack.dead_ns};
  if (state_.failure && ack.failure_seen == state_.failure->round) state_.failure_seen = true;
}

void MemberTurn::believe_until(TimePoint acked) {
  if (acked <= state_.acked) return;
  state_.acked = acked;
  if (judge_host(acked, now_, state_.dead) != HostTrust::good) return;
  state_.asked = false;
  state_.ask_until = TimePoint::min();
  state_.hostless_until = TimePoint::max();
  if (std::exchange(state_.paused, false) && has_workers()) effects_.push_back(ResumeWorkers{});
}

// A quorum of voters that miss the host as we do: whoever decides next hears of us from one. It
// takes the quorums that a candidate needs: a record that we have prepared may have been committed
// elsewhere since, and then its own voters decide without the others.
void MemberTurn::answered(Incarnation voter, Answer const& answer) {
  if (!answer.granted || !state_.voter.committed || !state_.voter.prepared) return;
  auto const stamp = TimePoint{Duration{answer.stamp_ns}};
  if (stamp > now_) return;
  auto& last = state_.answered.emplace(voter, stamp).first->second;
  last = std::max(last, stamp);
  auto const confirmed_by = [this](Incarnation host, Seats const& voters) {
    return confirmed_by_quorum(host, voters, state_.answered, state_.voter.gone);
  };
  auto const& held = *state_.voter.prepared;
  auto at = confirmed_by(held.record.host, held.record.voters);
  for (auto const& base : held.bases) at = std::min(at, confirmed_by(base.host, base.voters));
  believe_until(at);
}

Duration MemberTurn::missed_after() const {
  return std::min(std::max<Duration>(kMissedAfter, 2 * lease_every()), state_.dead / 2);
}

// A spare asks when its line to the host ends, and again when it misses it: in between it is
// remembered, for the host's end may be known only then.
Duration MemberTurn::spares_count_for() const {
  return 2 * std::max<Duration>(kMissedAfter, state_.job.lease_every);
}

// It says nothing, or what it says is worth nothing: a host without a majority is as good as none.
bool MemberTurn::misses_host() const {
  if (state_.host_heard == TimePoint::max()) return false;
  return state_.host_left || host_age() >= missed_after();
}

Duration MemberTurn::host_age() const {
  auto const doubt = now_ - state_.acked - state_.dead / 4;
  return std::max(now_ - state_.host_heard, doubt);
}

// The voters of what this node has prepared, and while it has no place those that its host named.
Seats MemberTurn::seats_that_know() const {
  auto seats = seats_to_ask({}, state_.voter.prepared);
  if (state_.phase != MemberPhase::joining || !state_.waiting) return seats;
  for (auto const& seat : state_.waiting->voters)
    if (!is_among(seats, seat.node)) seats.push_back(seat);
  return seats;
}

// Also where nothing is committed yet: the others may have found another host.
void MemberTurn::ask_voters() {
  auto const seats = seats_that_know();
  if (seats.empty() || now_ < state_.next_ask) return;
  state_.next_ask = now_ + state_.job.lease_every / 2;
  if (state_.hostless_until == TimePoint::max() && !state_.fenced) {
    auto const host = "the rendezvous host " + state_.host_seat.host;
    auto const seen = state_.host_left ? host + " is gone"
                      : misses_host()  ? host + " is silent"
                                       : "the connection to " + host + " has ended";
    tell(seen + "; asking the other nodes");
  }
  auto const held = status_of(state_);
  Ask const ask{now_.time_since_epoch().count(), held.prepared, held.prepared_in};
  for (auto const& seat : seats) {
    if (seat.node != state_.facts.incarnation) {
      effects_.push_back(CallSeat{seat, ask});
      continue;
    }
    auto miss = silence(seat.node);
    miss.patience = Duration::zero();
    answered(seat.node, answer_ask(state_.voter, header_of(state_), ask, miss, now_));
  }
}

void MemberTurn::look_at_time() {
  if (state_.phase == MemberPhase::over) return;
  if (state_.phase == MemberPhase::told) {
    if (now_ >= state_.told_until) end(Conclude{*state_.outcome});
    return;
  }
  if (state_.leaving && now_ >= state_.leave_until) {
    // Without a host nobody else stops its workers, or lets it go.
    auto const alone = misses_host();
    if (!has_workers() || (alone && state_.done == state_.running))
      return end(Conclude{Outcome{false, state_.leaving->exit_code, state_.leaving->why, {}}});
    if (alone) stop(state_.running, std::nullopt, state_.leaving->why);
  }
  if (state_.join_until != TimePoint::max() &&
      now_ >= state_.join_until + (state_.waiting ? kHostSpeaksFirst : Duration::zero()))
    return join_timed_out();
  if (state_.acked == TimePoint::max() || !state_.job.leases) return;
  if (misses_host() && state_.job.succession) {
    miss_host();
  } else {
    state_.stand_at = TimePoint::max();
    state_.candidacy.reset();
    if (has_lost_touch()) ask_voters();
  }
  if (state_.phase != MemberPhase::over) judge_lease();
  if (state_.phase != MemberPhase::over && now_ >= state_.next_lease) lease();
}

bool MemberTurn::has_lease() const {
  if (!state_.job.leases || state_.acked == TimePoint::max()) return true;
  return judge_host(state_.acked, now_, state_.dead) == HostTrust::good;
}

void MemberTurn::judge_lease() {
  auto const asking = now_ < state_.ask_until;
  auto const trust = judge_host(state_.acked, now_, state_.dead);
  if (asking || trust == HostTrust::good) {
    if (trust == HostTrust::good) state_.fenced = false;
    return;
  }
  fence();
  if (trust != HostTrust::lost) return;
  if (!state_.job.succession) return lose_host();
  if (state_.hostless_until == TimePoint::max()) {
    state_.hostless_until = now_ + state_.job.join_timeout;
    tell(whom_it_lacks() + " can be reached; waiting for one, " +
         seconds_text(state_.job.join_timeout) + " at most, then this node ends with exit code " +
         std::to_string(exit_code_of(Errc::lost_quorum)));
  }
  if (now_ >= state_.hostless_until) lose_host();
}

// Our workers die before the others may start without us. Should the host come back in time, it
// hears of them as of any failure.
void MemberTurn::fence() {
  if (std::exchange(state_.fenced, true)) return;
  if (!has_workers() || state_.done == state_.running) return;
  auto const why = "no answer from a majority of the nodes for " +
                   seconds_text(now_ - state_.acked) + ": the others may go on without this one";
  tell(why);
  stop(state_.running, Duration::zero(), why);
  if (state_.failure) return;
  state_.failure = Failure{state_.running, exit_code_of(Errc::fenced), false, 0, {}};
  state_.failure_at = now_;
  state_.failure_seen = false;
}

// Voters that answer a node without a place do not vouch for it: it needs a host.
std::string MemberTurn::whom_it_lacks() const {
  auto const has_place = state_.phase == MemberPhase::taking_part;
  return has_place ? "no majority of the nodes" : "no other rendezvous host";
}

void MemberTurn::lose_host() {
  auto const where = state_.host_seat.host.empty() ? state_.endpoint : state_.host_seat.host;
  end(Conclude{Outcome{false,
                       exit_code_of(Errc::lost_quorum),
                       "the rendezvous host " + where + " has not answered for " +
                           seconds_text(now_ - state_.acked) + ", and " + whom_it_lacks() +
                           " can be reached",
                       {}}});
}

void MemberTurn::join_timed_out() {
  std::string seen = "nobody answered at " + state_.endpoint;
  if (state_.waiting) {
    seen = "only these nodes came:";
    for (auto const& host : state_.waiting->hosts) seen += " " + host;
  }
  end(GiveUp{Error{Errc::rendezvous_timeout,
                   "run " + state_.run_id + ": no world of " +
                       counted(state_.job.min_nodes, "node") + " within " +
                       seconds_text(state_.job.join_timeout) + "; " + seen,
                   "check that muster runs on every node and that the endpoint's port is open"}});
}

TimePoint MemberTurn::next_wake() const {
  auto wake = TimePoint::max();
  if (state_.phase == MemberPhase::over) return wake;
  if (state_.phase == MemberPhase::told) return state_.told_until;
  if (state_.join_until != TimePoint::max())
    wake = state_.join_until + (state_.waiting ? kHostSpeaksFirst : Duration::zero());
  if (state_.leaving) wake = std::min(wake, state_.leave_until);
  if (state_.job.leases && state_.acked != TimePoint::max()) {
    auto const limit = state_.acked + (state_.fenced ? state_.dead : fence_of(state_.dead));
    auto const judged = std::max(limit, state_.ask_until);
    wake = std::min(wake, judged > now_ ? judged : state_.hostless_until);
    if (state_.with_host) wake = std::min(wake, state_.next_lease);
    if (state_.job.succession) wake = std::min(wake, next_miss());
  }
  return wake == TimePoint::max() ? wake : std::max(wake, now_ + std::chrono::milliseconds{1});
}

// When the host's silence next asks for something.
TimePoint MemberTurn::next_miss() const {
  if (!misses_host()) {
    auto const missed = now_ + missed_after() - host_age();
    return has_lost_touch() && !seats_that_know().empty() ? std::min(missed, state_.next_ask)
                                                          : missed;
  }
  if (state_.phase != MemberPhase::taking_part) {
    auto const anew = std::max(state_.host_heard, state_.called) + state_.dead;
    return seats_that_know().empty() ? anew : std::min(anew, state_.next_ask);
  }
  auto wake = std::min(state_.next_ask, state_.stand_at);
  if (state_.candidacy) wake = std::min(state_.next_ask, state_.candidacy->until);
  return wake;
}

}  // namespace muster::membership
