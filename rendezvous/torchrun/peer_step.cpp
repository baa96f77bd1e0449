// SPDX-License-Identifier: Apache-2.0
// Events, the calls to the store, and how it ends.

#include "rendezvous/torchrun/peer_step.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/torchrun/peer_turn.hpp"

#include <algorithm>
#include <utility>

namespace muster::torchrun {
namespace {

using namespace peer;
using std::chrono::milliseconds;
using std::chrono::seconds;

// torchrun tries again at once after a lost write: with many agents most of their work is that.
constexpr int kBackoffMsMax = 50;
constexpr int kBackoffStepsMax = 20;
constexpr Duration kCallAgain = milliseconds{200};
constexpr auto kLongestDeadline = std::chrono::hours{24};
// A name is taken out in a moment; nobody waits for it.
constexpr Duration kLeavePatience = seconds{3};

std::string seconds_text(Duration duration) {
  auto const tenths = std::chrono::duration_cast<milliseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

void PeerTurn::take(Event const& event) {
  std::visit(Overload{
                 [this](Begin const&) { begin(); },
                 [this](StoreAnswered const& e) { store_answered(e.value); },
                 [this](StoreFailed const& e) { store_failed(e.error); },
                 [this](Agreed const& e) { agreed(e); },
                 [this](NotAgreed const& e) { not_agreed(e); },
                 [this](Counted const& e) { counted(e); },
                 [this](BarrierPassed const& e) {
                   if (peer_.phase != PeerPhase::done || !is_of_seat(e.round)) return;
                   part({true, true, 0, "", {}, std::nullopt});
                 },
                 [this](WorkersFailed const& e) { workers_failed(e); },
                 [this](WorkersDone const&) { workers_done(); },
                 [this](WorkersStopped const&) { workers_stopped(); },
                 [this](LeaveWanted const& e) { leave(e); },
                 [](Tick const&) {},
             },
             event);
}

void PeerTurn::begin() {
  peer_.join_until = now_ + peer_.settings.join_timeout;
  peer_.next_look = now_;
}

// The store.

void PeerTurn::store_answered(std::string const& value) {
  peer_.asking = false;
  peer_.lost_since = TimePoint::max();
  auto const tried = std::exchange(peer_.written, std::nullopt);
  auto const written = tried && value == *tried;
  auto const beaten = tried && !written;
  peer_.failed_writes = beaten ? peer_.failed_writes + 1 : 0;
  look_again(pause_between_looks());
  if (written) peer_.beat_at = now_;
  if (!take_state(value)) return;
  if (!beaten) return consider();
  auto const steps = std::min(peer_.failed_writes, kBackoffStepsMax);
  auto const most = static_cast<std::uint64_t>(steps * kBackoffMsMax);
  look_again(milliseconds{1 + peer_.chance.below(most)});
}

bool PeerTurn::take_state(std::string const& value) {
  auto state = decode_state(value);
  auto const forgotten = state && !*state && peer_.has_met;
  if (!state || forgotten) {
    if (peer_.phase == PeerPhase::parting) end();
    if (peer_.ending) return false;
    if (!state)
      part({false, false, 0, "", {}, state.error()});
    else
      lose_store("the store at " + peer_.endpoint +
                 " has forgotten the rendezvous: was it restarted?");
    return false;
  }
  peer_.has_met = peer_.has_met || state->has_value();
  peer_.token = value;
  peer_.shared = state->value_or(RoundState{});
  peer_.watch.look(peer_.shared, now_);
  note_deadline();
  return true;
}

// A deadline is a time of the clock of whoever set it, who wrote its heartbeat with it: how long it
// is off is known without a look at our own.
void PeerTurn::note_deadline() {
  auto const& deadline = peer_.shared.deadline;
  if (deadline == peer_.deadline_seen) return;
  peer_.deadline_seen = deadline;
  peer_.deadline_due = TimePoint::max();
  if (!deadline) return;
  auto reference = peer_.shared.last_heartbeats.empty() ? clock_.utc_us : INT64_MIN;
  for (auto const& [node, beat] : peer_.shared.last_heartbeats)
    reference = std::max(reference, beat.utc_us);
  // Python's years go further than our nanoseconds.
  using std::chrono::microseconds;
  microseconds const left{deadline->utc_us - reference};
  peer_.deadline_due = now_ + std::clamp<microseconds>(left, microseconds{0}, kLongestDeadline);
}

void PeerTurn::write(RoundState next) {
  if (takes_part(next, peer_.self) || waits(next, peer_.self) || is_spare(next, peer_.self))
    next.last_heartbeats[peer_.self] = stamp();
  peer_.written = encode_state(next);
  peer_.asking = true;
  effects_.push_back(Replace{peer_.token, *peer_.written});
}

PythonTime PeerTurn::stamp(Duration later) const {
  auto const clock = peer_.watch.latest_clock_us(clock_.utc_us, now_, peer_.settings.dead());
  auto const later_us = std::chrono::duration_cast<std::chrono::microseconds>(later).count();
  return {clock + later_us, writes_aware_times(peer_.shared)};
}

void PeerTurn::look_again(Duration pause) {
  peer_.next_look = now_ + pause;
}

void PeerTurn::store_failed(Error const& error) {
  peer_.asking = false;
  peer_.written.reset();
  peer_.last_problem = error;
  if (peer_.lost_since == TimePoint::max()) peer_.lost_since = now_;
  if (peer_.phase == PeerPhase::parting) return end();  // nobody is left to be told
  look_again(kCallAgain);
}

// The round's members.

void PeerTurn::agreed(Agreed const& event) {
  if (peer_.phase != PeerPhase::agreeing || !is_of_seat(event.round)) return;
  peer_.phase = PeerPhase::running;
  peer_.store_owner = event.store_owner;
  // While they waited for each other's words, torchrun's agents sent no heartbeats.
  peer_.watch.restart(now_);
  peer_.gone_since.clear();
  peer_.suspects.clear();
  effects_.push_back(StartWorkers{});
}

void PeerTurn::not_agreed(NotAgreed const& event) {
  if (peer_.phase != PeerPhase::agreeing || !is_of_seat(event.round)) return;
  effects_.push_back(
      Say{"round " + std::to_string(event.round) + " is given up: " + to_string(event.error)});
  join_anew();
}

// Agents that are silent may be waiting at the exit barrier: torchrun's send no heartbeat there.
void PeerTurn::counted(Counted const& event) {
  auto const done = peer_.phase == PeerPhase::done;
  if ((!done && peer_.phase != PeerPhase::running) || !is_of_seat(event.round)) return;
  auto const others = event.agents - (done ? 1 : 0);
  auto const suspects = static_cast<std::int64_t>(peer_.suspects.size());
  if (peer_.shared.closed && (others <= 0 || suspects > others)) return end_by_others();
  if (peer_.shared.closed || suspects <= others) return;
  peer_.lost.insert(peer_.suspects.begin(), peer_.suspects.end());
  stop_workers("host " + peer_.suspects.front().addr + " is lost: not heard for " +
               seconds_text(peer_.settings.dead()));
}

void PeerTurn::workers_failed(WorkersFailed const& event) {
  if (peer_.phase != PeerPhase::running) return;
  if (peer_.restarts < peer_.settings.max_restarts) {
    ++peer_.restarts;
    return stop_workers("a worker failed on this host");
  }
  PeerEnd failure{true, false,       event.exit_code, "a worker failed on host " + peer_.self.addr,
                  {},   std::nullopt};
  if (peer_.settings.max_restarts > 0) failure.why += " and no restart is left";
  if (!event.report.empty()) failure.reports.push_back(event.report);
  part(std::move(failure));
}

void PeerTurn::workers_done() {
  if (peer_.phase != PeerPhase::running) return;
  peer_.phase = PeerPhase::done;
  effects_.push_back(EnterBarrier{peer_.seat->round});
}

void PeerTurn::workers_stopped() {
  if (peer_.phase != PeerPhase::stopping) return;
  if (peer_.ending) {
    peer_.phase = PeerPhase::done;  // nothing runs any more
    return part(*std::exchange(peer_.ending, std::nullopt));
  }
  join_anew();
}

void PeerTurn::leave(LeaveWanted const& event) {
  if (peer_.ending) return;
  part({false, false, event.exit_code, event.why, {}, std::nullopt});
}

// Stops what runs; the next round, or the end, follows when it has stopped.
void PeerTurn::stop_workers(std::string const& why) {
  if (peer_.phase == PeerPhase::done) return join_anew();
  if (peer_.phase == PeerPhase::stopping) return;
  peer_.phase = PeerPhase::stopping;
  effects_.push_back(StopWorkers{why});
}

void PeerTurn::join_anew() {
  peer_.phase = PeerPhase::joining;
  peer_.leaves_first = true;
  peer_.join_until = now_ + peer_.settings.join_timeout;
  peer_.expected = peer_.seat->members;
  if (!peer_.asking) look_again(Duration::zero());
}

// The end.

void PeerTurn::end_by_others() {
  part({false,
        false,
        exit_code_of(Errc::peer_lost),
        "another agent has ended the job: the rendezvous is closed",
        {},
        std::nullopt});
}

void PeerTurn::lose_store(std::string const& why) {
  PeerEnd lost{false, false, exit_code_of(Errc::lost_quorum), why, {}, std::nullopt};
  part(std::move(lost));
}

void PeerTurn::join_timed_out() {
  std::string seen = "nobody answered at " + peer_.endpoint;
  if (peer_.last_problem && !peer_.has_met) seen += " (" + peer_.last_problem->what + ")";
  if (peer_.has_met) {
    seen = "only these nodes are there:";
    for (auto const& [node, rank] : peer_.shared.participants) seen += " " + node.addr;
  }
  Error error{Errc::rendezvous_timeout,
              "run " + peer_.run_id + ": no world of " +
                  std::to_string(peer_.settings.nodes.min_nodes) +
                  (peer_.settings.nodes.min_nodes == 1 ? " node" : " nodes") + " within " +
                  seconds_text(peer_.settings.join_timeout) + "; " + seen,
              "check that an agent runs on every node and that the endpoint's port is open"};
  part({false, false, 0, "", {}, std::move(error)});
}

// Workers first, then the last words into the state, then the end.
void PeerTurn::part(PeerEnd end_as) {
  if (peer_.phase == PeerPhase::parting || peer_.phase == PeerPhase::over) return;
  if (peer_.phase == PeerPhase::agreeing) effects_.push_back(StopAgreeing{});
  auto const why = end_as.error ? end_as.error->what : end_as.why;
  auto const patience = end_as.closes
                            ? std::min<Duration>(peer_.settings.close_timeout, seconds{10})
                            : kLeavePatience;
  peer_.ending = std::move(end_as);
  if (has_workers()) return stop_workers(why);
  peer_.phase = PeerPhase::parting;
  peer_.part_until = now_ + patience;
  if (peer_.token.empty() || peer_.lost_since != TimePoint::max()) return end();
  if (!peer_.asking) look_again(Duration::zero());
}

void PeerTurn::end() {
  peer_.phase = PeerPhase::over;
  effects_.push_back(End{*peer_.ending});
}

void PeerTurn::look_at_time() {
  auto const& phase = peer_.phase;
  if (phase == PeerPhase::over) return;
  if (phase == PeerPhase::parting && now_ >= peer_.part_until) return end();
  if (phase == PeerPhase::joining && now_ >= peer_.join_until) return join_timed_out();
  auto const lost = peer_.lost_since;
  if (peer_.has_met && !peer_.ending && lost != TimePoint::max() &&
      now_ - lost >= peer_.settings.dead())
    return lose_store("the store at " + peer_.endpoint + " has not answered for " +
                      seconds_text(now_ - lost) + ": " +
                      (peer_.last_problem ? peer_.last_problem->what : ""));
}

std::vector<Effect> PeerTurn::finish() {
  if (peer_.phase == PeerPhase::over) return std::move(effects_);
  if (!peer_.asking && now_ >= peer_.next_look) {
    peer_.asking = true;
    effects_.push_back(Read{});
  }
  auto wake = peer_.asking ? TimePoint::max() : peer_.next_look;
  if (peer_.phase == PeerPhase::joining) wake = std::min(wake, peer_.join_until);
  if (peer_.phase == PeerPhase::parting) wake = std::min(wake, peer_.part_until);
  if (peer_.has_met && peer_.lost_since != TimePoint::max())
    wake = std::min(wake, peer_.lost_since + peer_.settings.dead());
  if (wake != TimePoint::max()) effects_.push_back(WakeAt{std::max(wake, now_ + milliseconds{1})});
  return std::move(effects_);
}

std::vector<Effect> peer_step(PeerState& state, Event const& event, PeerClock clock) {
  PeerTurn turn(state, clock);
  if (state.phase != PeerPhase::over) turn.take(event);
  turn.look_at_time();
  return turn.finish();
}

}  // namespace muster::torchrun
