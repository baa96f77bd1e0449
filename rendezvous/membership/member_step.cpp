// SPDX-License-Identifier: Apache-2.0
// What each event means to a member. Time is looked at in one place, look_at_time.

#include "rendezvous/membership/member_step.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/voter_step.hpp"

#include <algorithm>
#include <utility>

namespace muster::membership {
namespace {

using namespace member;

// A late agent asks its host for so long before it takes its lease for lost.
constexpr Duration kAskAgain = std::chrono::seconds{2};
// Past the host's own join deadline, so that its answer, which names who came, is the one shown.
constexpr Duration kHostSpeaksFirst = std::chrono::seconds{2};

class Turn {
 public:
  Turn(MemberState& state, TimePoint now) : state_(state), now_(now) {}

  void notice_late_wake();
  void take(Event const& event);
  void look_at_time();
  std::vector<Effect> finish();

 private:
  void hear(Heard const& event);
  void connected();
  void lease();
  void welcome(Welcome const& message);
  void open_store(OpenStore const& message);
  void prepare(Prepare const& message);
  void commit(Commit const& message);
  void stop(RoundNumber round, std::optional<Duration> grace, std::string const& why);
  void outcome(Outcome const& message);
  void failed(Failure failure, TimePoint at);
  void leave(Leave const& wish);
  void fence();
  void lose_host();
  void join_timed_out();
  void say(Message message);
  void end(Effect effect);
  bool has_workers() const { return state_.running > state_.stopped; }

  MemberState& state_;
  TimePoint now_;
  std::vector<Effect> effects_;
};

// We were not running (SIGSTOP, a suspended machine): the host is asked before it is given up.
void Turn::notice_late_wake() {
  if (missed_time(state_.expected_wake, now_) == Duration::zero()) return;
  if (state_.acked == TimePoint::max()) return;
  state_.next_lease = now_;
  auto const trust = judge_host(state_.acked, now_, state_.job);
  if (trust != HostTrust::good && !std::exchange(state_.asked, true))
    state_.ask_until = now_ + kAskAgain;  // once: a machine that is always late must fence, too
}

void Turn::take(Event const& event) {
  std::visit(Overload{
                 [this](Connected const&) { connected(); },
                 [this](Disconnected const&) { state_.connected = false; },
                 [this](Heard const& e) { hear(e); },
                 [this](StoreIsOpen const& e) {
                   state_.store = e.result;
                   say(e.result);
                 },
                 [this](WorkersFailed const& e) { failed(e.failure, e.at); },
                 [this](WorkersDone const& e) {
                   if (e.round != state_.running) return;
                   state_.done = e.round;
                   say(Done{e.round});
                 },
                 [this](WorkersStopped const& e) {
                   state_.stopped = std::max(state_.stopped, e.round);
                   say(Stopped{state_.stopped});
                 },
                 [this](LeaveWanted const& e) { leave(e.leave); },
                 [](Tick const&) {},
             },
             event);
}

void Turn::connected() {
  state_.connected = true;
  say(Join{state_.facts, state_.job, status_of(state_), state_.backend});
  if (state_.leaving) say(*state_.leaving);
  if (state_.welcome) lease();
}

void Turn::hear(Heard const& event) {
  if (event.header.generation < state_.generation || event.header.epoch < state_.epoch) return;
  state_.generation = event.header.generation;
  state_.epoch = event.header.epoch;
  std::visit(Overload{
                 [&](Welcome const& m) { welcome(m); },
                 [this](Ack const& m) {
                   if (m.stamp_ns > state_.acked_stamp) {
                     state_.acked_stamp = m.stamp_ns;
                     state_.acked = TimePoint{Duration{m.stamp_ns}};
                     state_.asked = false;
                     state_.ask_until = TimePoint::min();
                   }
                   if (state_.failure && m.failure_seen == state_.failure->round)
                     state_.failure.reset();
                 },
                 [this](Waiting const& m) { state_.waiting = m; },
                 [this](OpenStore const& m) { open_store(m); },
                 [this](Prepare const& m) { prepare(m); }, [this](Commit const& m) { commit(m); },
                 [this](Stop const& m) {
                   std::optional<Duration> grace;
                   if (m.grace_ns) grace = Duration{*m.grace_ns};
                   stop(m.round, grace, m.why);
                 },
                 [this](Outcome const& m) { outcome(m); },
                 [this](Refused const& m) {
                   end(GiveUp{Error{m.code, m.what, m.hint}});
                 },
                 [this](VoteRequest const& m) { say(answer_vote(state_.voter, m)); },
                 [](auto const&) {},  // what only a member says
             },
             event.message);
}

void Turn::welcome(Welcome const& message) {
  auto const leases = state_.job.leases;
  state_.job = message.job;
  state_.job.leases = leases && message.job.leases;
  state_.host_name = message.host;
  if (!state_.job.leases || state_.welcome) return;
  state_.welcome = true;
  state_.acked = now_;
  lease();
}

void Turn::lease() {
  if (!state_.job.leases || !state_.connected) return;
  say(Lease{now_.time_since_epoch().count(), status_of(state_)});
  if (state_.failure) failed(*std::exchange(state_.failure, std::nullopt), state_.failure_at);
  state_.next_lease = now_ + state_.job.lease_every;
}

void Turn::open_store(OpenStore const& message) {
  if (state_.store && state_.store->round == message.round) return say(*state_.store);
  if (message.round <= state_.opening) return;
  state_.opening = message.round;
  effects_.push_back(OpenStoreNow{message.round});
}

void Turn::prepare(Prepare const& message) {
  std::visit([this](auto const& answer) { say(answer); }, answer_prepare(state_.voter, message));
}

void Turn::commit(Commit const& message) {
  if (!accept_commit(state_.voter, message.record) || message.record.outcome) return;
  auto const round = message.record.round;
  // A STOP that overtook the COMMIT: this round is not to run.
  if (round <= state_.stopped || round <= state_.stop_asked || state_.leaving) {
    state_.running = std::max(state_.running, round);
    state_.stopped = std::max(state_.stopped, round);
    return say(Stopped{state_.stopped});
  }
  state_.phase = MemberPhase::taking_part;
  state_.running = round;
  state_.failure.reset();
  effects_.push_back(StartWorkers{message});
}

void Turn::stop(RoundNumber round, std::optional<Duration> grace, std::string const& why) {
  if (!has_workers() || state_.running > round) {
    // Nothing of these rounds is alive, and nothing of them will be started.
    if (state_.running <= round) state_.stopped = std::max(state_.stopped, round);
    return say(Stopped{state_.stopped});
  }
  if (round <= state_.stop_asked && grace != Duration::zero()) return;  // under way
  state_.stop_asked = std::max(state_.stop_asked, round);
  effects_.push_back(StopWorkers{round, grace, why});
}

void Turn::outcome(Outcome const& message) {
  if (state_.phase == MemberPhase::over) return;
  say(OutcomeAck{});
  end(Conclude{message});
}

void Turn::failed(Failure failure, TimePoint at) {
  failure.age_ns = std::max<std::int64_t>(0, (now_ - at).count());
  say(Failed{failure});
  state_.failure = std::move(failure);
  state_.failure_at = at;
}

void Turn::leave(Leave const& wish) {
  if (state_.leaving) return;
  state_.leaving = wish;
  if (state_.connected) {
    state_.leave_until = now_ + state_.job.dead;
    return say(wish);
  }
  if (!has_workers() && state_.phase == MemberPhase::joining)
    end(Conclude{Outcome{false, wish.exit_code, wish.why, {}}});
}

// Our workers die before the others may start without us. Should the host come back in time, it
// hears of them as of any failure.
void Turn::fence() {
  if (std::exchange(state_.fenced, true)) return;
  if (!has_workers() || state_.done == state_.running) return;
  stop(state_.running, Duration::zero(),
       "no answer from the rendezvous host for " + seconds_text(now_ - state_.acked) +
           ": the others may go on without us");
  if (state_.failure) return;
  state_.failure = Failure{state_.running, exit_code_of(Errc::fenced), false, 0, {}};
  state_.failure_at = now_;
}

void Turn::lose_host() {
  auto const where = state_.host_name.empty() ? state_.endpoint : state_.host_name;
  end(Conclude{Outcome{
      false,
      exit_code_of(Errc::lost_quorum),
      "the rendezvous host " + where + " has not answered for " + seconds_text(now_ - state_.acked),
      {}}});
}

void Turn::join_timed_out() {
  std::string seen = "nobody answered at " + state_.endpoint;
  if (state_.waiting) {
    seen = "only these nodes came:";
    for (auto const& host : state_.waiting->hosts) seen += " " + host;
  }
  end(GiveUp{Error{Errc::rendezvous_timeout,
                   "run " + state_.run_id + ": no world of " +
                       std::to_string(state_.job.min_nodes) + " nodes within " +
                       seconds_text(state_.job.join_timeout) + "; " + seen,
                   "check that muster runs on every node and that the endpoint's port is open"}});
}

void Turn::look_at_time() {
  if (state_.phase == MemberPhase::over) return;
  if (state_.leaving && !state_.welcome && now_ >= state_.leave_until)
    return end(Conclude{Outcome{false, state_.leaving->exit_code, state_.leaving->why, {}}});
  if (state_.phase == MemberPhase::joining) {
    auto const patience = state_.welcome ? kHostSpeaksFirst : Duration::zero();
    if (state_.join_until != TimePoint::max() && now_ >= state_.join_until + patience)
      return join_timed_out();
  }
  if (state_.acked == TimePoint::max()) return;
  auto const asking = now_ < state_.ask_until;
  switch (asking ? HostTrust::good : judge_host(state_.acked, now_, state_.job)) {
    case HostTrust::good:
      state_.fenced = false;
      break;
    case HostTrust::fence:
      fence();
      break;
    case HostTrust::lost:
      fence();
      return lose_host();
  }
  if (now_ >= state_.next_lease) lease();
}

void Turn::say(Message message) {
  if (state_.connected) effects_.push_back(Say{std::move(message)});
}

void Turn::end(Effect effect) {
  if (state_.phase == MemberPhase::over) return;
  state_.phase = MemberPhase::over;
  effects_.push_back(std::move(effect));
}

std::vector<Effect> Turn::finish() {
  auto wake = TimePoint::max();
  if (state_.phase != MemberPhase::over) {
    if (state_.phase == MemberPhase::joining && state_.join_until != TimePoint::max())
      wake = state_.join_until + (state_.welcome ? kHostSpeaksFirst : Duration::zero());
    if (state_.leaving && !state_.welcome) wake = std::min(wake, state_.leave_until);
    if (state_.job.leases && state_.acked != TimePoint::max()) {
      auto const limit = state_.acked + (state_.fenced ? state_.job.dead : state_.job.fence);
      wake = std::min(wake, std::max(limit, state_.ask_until));
      if (state_.connected) wake = std::min(wake, state_.next_lease);
    }
    if (wake != TimePoint::max()) {
      wake = std::max(wake, now_ + std::chrono::milliseconds{1});
      effects_.push_back(WakeAt{wake});
    }
  }
  state_.expected_wake = wake;
  return std::move(effects_);
}

}  // namespace

std::vector<member::Effect> member_step(MemberState& state, member::Event const& event,
                                        TimePoint now) {
  Turn turn(state, now);
  turn.notice_late_wake();
  if (state.phase != MemberPhase::over) turn.take(event);
  turn.look_at_time();
  return turn.finish();
}

std::vector<member::Effect> member_start(MemberState& state, TimePoint now) {
  state.join_until = now + state.job.join_timeout;
  state.expected_wake = state.join_until;
  return {member::WakeAt{state.join_until}};
}

Header header_of(MemberState const& state) {
  auto const round = state.voter.committed ? state.voter.committed->round : RoundNumber{};
  return {state.run_id, state.generation, state.epoch, round, state.facts.incarnation, 0};
}

Status status_of(MemberState const& state) {
  Status status;
  if (state.voter.prepared) status.prepared = state.voter.prepared->round;
  if (state.voter.committed) status.committed = state.voter.committed->round;
  status.stopped = state.stopped;
  status.done = state.done;
  return status;
}

}  // namespace muster::membership
