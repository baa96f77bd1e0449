// SPDX-License-Identifier: Apache-2.0
// What the host orders: stores, tests, records, workers, the end.

#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/member_turn.hpp"
#include "rendezvous/membership/voter_step.hpp"

#include <algorithm>

namespace muster::membership {

using namespace member;

void MemberTurn::open_store(OpenStore const& message) {
  // A host that is new does not know that the store of this round is in use already.
  auto const newest = std::max(state_.opening, state_.running);
  if (message.round == newest) {
    effects_.push_back(AdmitToStore{message});
    return state_.store && state_.store->round == message.round ? say(*state_.store) : void();
  }
  if (message.round < newest) return;
  state_.opening = message.round;
  effects_.push_back(OpenStoreNow{message});
}

void MemberTurn::probe(Probe const& message) {
  auto const same = state_.probing == message.round && state_.probe_attempt == message.attempt;
  if (same) return state_.probed ? say(*state_.probed) : void();
  if (message.round < state_.probing) return;
  state_.probing = message.round;
  state_.probe_attempt = message.attempt;
  state_.probed.reset();
  effects_.push_back(ProbePeers{message});
}

void MemberTurn::prepare(Prepare const& message) {
  auto const answer = answer_prepare(state_.voter, message, now_);
  keep_last_word();  // before anybody can count on the answer
  std::visit([this](auto const& said) { say(said); }, answer);
}

void MemberTurn::commit(Commit const& message) {
  auto const& record = message.record;
  if (message.row.node != state_.facts.incarnation) return;
  auto const& voter = state_.voter;
  if (record.generation == voter.generation && record.epoch < voter.promised)
    return say(HostIs{voter.generation, voter.promised, {}, true});  // it must renew its reign
  auto const is_later = voter.committed && voter.committed->epoch < record.epoch;
  if (!accept_commit(state_.voter, record) || record.outcome) return;
  keep_last_word();
  state_.row = message.row;
  auto const round = record.round;
  if (round == state_.running) return is_later ? resumed(round) : void();
  state_.phase = MemberPhase::taking_part;
  state_.failure.reset();
  // A STOP that overtook the COMMIT: this round is not to run.
  if (round <= state_.stopped || round <= state_.stop_asked || state_.leaving) {
    state_.running = std::max(state_.running, round);
    state_.stopped = std::max(state_.stopped, round);
    return say(Stopped{state_.stopped, state_.unclean});
  }
  state_.running = round;
  // A COMMIT that was long under way, or found after a pause: the others may have gone on since.
  if (!has_lease()) return give_round_back();
  effects_.push_back(StartWorkers{message});
}

// A new reign over the same workers. Where the one before had ordered their stop, and nobody else
// is told of that, there are none.
void MemberTurn::resumed(RoundNumber round) {
  auto const stops = round <= state_.stopped || round <= state_.stop_asked;
  if (!stops || state_.done == round || state_.failure || state_.leaving) return;
  failed(Failure{round, exit_code_of(Errc::fenced), false, 0, {}}, now_);
}

// Nothing was started, and the host, should it still be one, hears of it as of fenced workers. The
// next round may begin within milliseconds: by then the lease is to be good.
void MemberTurn::give_round_back() {
  state_.stopped = state_.running;
  say(Stopped{state_.stopped, state_.unclean});
  lease();
  failed(Failure{state_.running, exit_code_of(Errc::fenced), false, 0, {}}, now_);
}

void MemberTurn::stop(RoundNumber round, std::optional<Duration> grace, std::string const& why) {
  if (!has_workers() || state_.running > round) {
    // Nothing of these rounds is alive, and nothing of them will be started.
    if (state_.running <= round) state_.stopped = std::max(state_.stopped, round);
    return say(Stopped{state_.stopped, state_.unclean});
  }
  if (round <= state_.stop_asked && grace != Duration::zero()) return;  // under way
  state_.stop_asked = std::max(state_.stop_asked, round);
  effects_.push_back(StopWorkers{round, grace, why});
}

void MemberTurn::workers_stopped(WorkersStopped const& event) {
  state_.stopped = std::max(state_.stopped, event.round);
  state_.unclean += event.unclean;
  state_.paused = false;
  if (state_.evicted && state_.unclean > 0)
    return end(GiveUp{Error{
        Errc::system,
        "this node was counted out, and cannot join again: " + counted(state_.unclean, "worker") +
            " cannot be killed (state D)",
        "look at what they wait for (/proc/PID/stack), or restart the machine"}});
  if (state_.evicted) return rejoin();
  say(Stopped{state_.stopped, state_.unclean});
}

void MemberTurn::failed(Failure failure, TimePoint at) {
  if (failure.round < state_.running) return;
  state_.failure = std::move(failure);
  state_.failure_at = at;
  state_.failure_seen = false;
  state_.failure->age_ns = std::max<std::int64_t>(0, (now_ - at).count());
  say(Failed{*state_.failure});
}

// Known, but we stay for those who have not heard it: until the host says that all have.
void MemberTurn::outcome(Outcome const& message) {
  say(OutcomeAck{});
  if (state_.leaving) return end(Conclude{message});
  state_.outcome = message;
  state_.phase = MemberPhase::told;
  state_.told_until = now_ + state_.job.outcome_patience + state_.job.lease_every;
}

// Prepared with every round, so that whoever hears it knows how much we had decided.
void MemberTurn::keep_last_word() {
  if (!state_.job.leases) return;
  auto const& voter = state_.voter;
  auto const round = voter.prepared ? voter.prepared->record.round : RoundNumber{};
  auto const prepared_in = voter.prepared ? voter.prepared->record.epoch : Epoch{};
  auto const epoch = std::max(prepared_in, voter.voted);  // whose host may have begun with our vote
  Seats voters;
  if (voter.prepared && state_.host == state_.facts.incarnation)
    for (auto const& seat : voter.prepared->record.voters)
      if (seat.node != state_.host) voters.push_back(seat);
  if (state_.word_round == round && state_.word_epoch == epoch && state_.word_voters == voters)
    return;
  state_.word_round = round;
  state_.word_epoch = epoch;
  state_.word_voters = voters;
  effects_.push_back(KeepLastWord{std::move(voters), round, epoch});
}

}  // namespace muster::membership
