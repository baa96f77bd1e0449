// SPDX-License-Identifier: Apache-2.0
// What each event means. Whatever it changed, HostTurn::advance then applies the rules of rounds.

#include "rendezvous/membership/host_step.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/quorum.hpp"

#include <algorithm>

namespace muster::membership {
namespace {

bool has_prepared(Status const& status, Record const& record) {
  return status.prepared == record.round && status.prepared_in == record.epoch;
}

// What the receiver's next status answers.
bool is_order(Message const& message) {
  return std::holds_alternative<Stop>(message) || std::holds_alternative<Probe>(message) ||
         std::holds_alternative<Prepare>(message) || std::holds_alternative<Commit>(message) ||
         std::holds_alternative<OpenStore>(message) || std::holds_alternative<Outcome>(message);
}

}  // namespace

HostStep host_step(Host& host, HostEvent const& event, TimePoint now, JobSettings const& settings) {
  HostTurn turn(host, now, settings);
  turn.notice_late_wake();
  turn.take(event);
  turn.advance();
  return turn.finish();
}

RoundNumber last_round(Host const& host) {
  return host.committed ? host.committed->round : RoundNumber{};
}

// A host that did not run cannot have heard: everybody's silence is shortened by the gap.
void HostTurn::notice_late_wake() {
  auto const gap = missed_time(host_.expected_wake, now_);
  if (gap == Duration::zero()) return;
  for (auto& [id, member] : host_.members) member.heard += gap;
  if (host_.quiet_until != TimePoint::max()) host_.quiet_until += gap;
  if (host_.back_until != TimePoint::max()) host_.back_until += gap;
  if (host_.spares_until != TimePoint::max()) host_.spares_until += gap;
}

void HostTurn::take(HostEvent const& event) {
  std::visit(Overload{
                 [this](Received const& e) { received(e); },
                 [this](Disconnected const& e) {  // proves nothing; the lease decides
                   auto const found = host_.members.find(e.node);
                   if (found != host_.members.end()) found->second.connected = false;
                 },
                 [this](Died const& e) { died(e); },
                 [this](Overruled const& e) { overruled(e.by); },
                 [this](ResignWanted const&) { resign(); },
                 [this](Tick const&) { scan_leases(); },
             },
             event);
}

void HostTurn::received(Received const& event) {
  auto const from = event.header.incarnation;
  if (auto const* word = std::get_if<LastWord>(&event.message))
    return died({word->node, event.header.round, event.header.epoch});
  if (host_.proven_dead.contains(from)) return;  // its word has overtaken this
  if (auto const* request = std::get_if<Join>(&event.message)) return join(event, *request);
  if (auto const* is = std::get_if<HostIs>(&event.message)) return overruled(*is);
  if (auto const* reply = std::get_if<VoteReply>(&event.message)) return vote(from, *reply);
  if (host_.phase == Phase::over) return;
  auto found = host_.members.find(from);
  if (found == host_.members.end()) {
    if (!std::holds_alternative<Lease>(event.message)) return;
    if (host_.phase == Phase::inquiring || !is_needed(from))
      return send(from, Evicted{"host " + host_.name + " has counted this node out"});
    keep_for_its_vote(event, host_.given_up[from]);
    found = host_.members.find(from);
  }
  if (!found->second.here) return;  // it speaks before it has joined this reign
  if (event.header.generation != host_.generation || event.header.epoch != host_.epoch) return;
  found->second.heard = now_;
  found->second.suspected = false;
  from_member(from, event.message);
}

void HostTurn::died(Died const& word) {
  host_.spares.erase(word.node);
  // An agent that had prepared more than we know of may have decided more, too.
  auto const counts = word.round <= host_.highest && word.epoch <= host_.epoch;
  if (counts && host_.proven_dead.insert(word.node).second && is_needed(word.node))
    host_.last_proof = now_;
  if (host_.phase == Phase::resuming || host_.phase == Phase::inquiring) return;
  host_.ghosts.erase(word.node);
  lost(word.node, "its agent is gone and its workers are dead");
  host_.ghosts.erase(word.node);
}

void HostTurn::from_member(Incarnation from, Message const& message) {
  std::visit(Overload{
                 [&](Lease const& m) { lease(from, m); },
                 [&](StoreOpened const& m) { store_opened(from, m); },
                 [&](Probed const& m) { probed(from, m); },
                 [&](Prepared const& m) {
                   believe(from, m.vouches);
                   if (host_.proposal && host_.proposal->record.round == m.round)
                     host_.proposal->prepared.insert(from);
                 },
                 [&](Stopped const& m) { stopped(from, m); },
                 [&](Failed const& m) { failed(from, m.failure); },
                 [&](Done const& m) {
                   if (m.round == host_.workers_round) host_.to_finish.erase(from);
                 },
                 [&](OutcomeAck const&) { host_.to_acknowledge.erase(from); },
                 [&](Leave const& m) { leave(from, m); },
                 [](auto const&) {},  // what only a host says: not for us
             },
             message);
}

void HostTurn::lease(Incarnation from, Lease const& lease) {
  auto& member = host_.members.at(from);
  auto const confirmed = TimePoint{Duration{lease.host_stamp_ns}};
  if (is_voter(from) && lease.host_stamp_ns != 0 && confirmed <= now_) {
    auto& last = host_.confirmed.emplace(from, confirmed).first->second;
    last = std::max(last, confirmed);
  }
  member.dead_held = Duration{lease.dead_ns};
  host_.confirmed[host_.self] = now_;  // a host is certain of itself
  believe(from, lease.vouches);
  if (host_.inquiry && !has_voted(from))
    ask_for_vote(from);  // it could not, or its answer was lost
  member.dead_sent = dead_now(member);
  send(from, Ack{lease.stamp_ns, now_.time_since_epoch().count(), quorum_age().count(),
                 member.dead_sent.count(), member.failure_seen});
  update(from, lease.status);
  if (host_.members.contains(from)) reconcile(from, lease.status);
}

bool HostTurn::is_voter(Incarnation node) const {
  return host_.committed && is_among(host_.committed->voters, node);
}

// Whoever asked a voter while we were silent is no more silent than that, also if we gave it up.
void HostTurn::believe(Incarnation from, std::vector<Vouch> const& vouches) {
  for (auto const& vouch : vouches) {
    auto const heard = now_ - Duration{vouch.age_ns};
    if (vouch.node == from || vouch.age_ns < 0) continue;
    if (auto const member = host_.members.find(vouch.node); member != host_.members.end())
      member->second.heard = std::max(member->second.heard, heard);
    if (auto const ghost = host_.ghosts.find(vouch.node); ghost != host_.ghosts.end())
      ghost->second.heard = std::max(ghost->second.heard, heard);
  }
}

// Where the job cannot go on without one of its nodes, haste wins nothing. Only where the record
// says so, too, for a successor knows no more: it must not count out whoever was promised more
// time.
Duration HostTurn::dead_now(Member const& member) const {
  if (!member.seated || host_.workers_round == RoundNumber{}) return settings_.dead;
  if (host_.phase == Phase::resuming) return member.dead_sent;
  if (host_.committed->nodes > settings_.min_nodes) return settings_.dead;
  auto const without = host_.members.eligible() - (member.is_eligible() ? 1 : 0);
  return without >= settings_.min_nodes ? settings_.dead : settings_.dead_at_min;
}

// How long ago it was certain that no other host can have been elected since. Whoever has not taken
// over yet, the record that it found or a world that it only hears of, keeps nobody waiting: the
// members' own time runs, and ends.
Duration HostTurn::quorum_age() const {
  constexpr Duration kEver = std::chrono::hours{24};
  if (!settings_.leases) return Duration::zero();
  if (host_.phase == Phase::inquiring) return kEver;
  auto at = now_;
  auto const count = [&](Incarnation host, Seats const& voters) {
    at = std::min(at, confirmed_by_quorum(host, voters, host_.confirmed, host_.proven_dead));
  };
  if (host_.phase == Phase::resuming) {
    auto const& proposal = *host_.proposal;
    count(proposal.record.host, proposal.record.voters);
    for (auto const& base : proposal.bases) count(base.host, base.voters);
  } else if (host_.committed) {
    count(host_.committed->host, host_.committed->voters);
  }
  return at == TimePoint::min() ? kEver : std::min<Duration>(now_ - at, kEver);
}

// What a member says of itself, whether or not the message that told it first arrived.
void HostTurn::update(Incarnation node, Status const& status) {
  host_.members.at(node).status = status;
  watch_over(node, status);
  if (host_.proposal && has_prepared(status, host_.proposal->record))
    host_.proposal->prepared.insert(node);
  if (host_.workers_round == RoundNumber{}) return;
  if (status.done == host_.workers_round) host_.to_finish.erase(node);
  if (status.stopped >= host_.workers_round) stopped(node, {status.stopped, 0});
}

void HostTurn::stopped(Incarnation node, Stopped const& note) {
  if (note.round < host_.workers_round) return;
  host_.to_stop.erase(node);
  auto const found = host_.members.find(node);
  if (found == host_.members.end()) return;
  if (found->second.votes_only) host_.ghosts.erase(node);
  if (found->second.leaving) return;
  if (note.unclean == 0) return;
  auto const name = found->second.facts.host;
  auto const why = counted(note.unclean, "worker") + " cannot be killed (state D)";
  send(node, Refused{Errc::system, "host " + name + " leaves the job: " + why,
                     "look at what they wait for (/proc/PID/stack), or restart the machine"});
  lost(node, why);
}

// Says again what the member does not have yet. In a large job its lease and our order often cross,
// and repeating it to each of thousands would delay all that follows: it has a lease's time first.
void HostTurn::reconcile(Incarnation node, Status const& status) {
  auto const told = host_.members.at(node).ordered;
  if (host_.members.is_large() && told + settings_.lease_every > now_) return;
  if (host_.phase == Phase::telling) return tell(node);
  if (host_.phase == Phase::over) return;
  if (host_.to_stop.contains(node) && host_.phase != Phase::running) {
    std::optional<std::int64_t> grace;
    if (host_.stop_grace) grace = host_.stop_grace->count();
    send(node, Stop{host_.workers_round, grace, host_.stop_why});
  }
  if (host_.proposal) {
    auto const& proposal = *host_.proposal;
    if (!proposal.store_open && proposal.table.front().node == node && proposal.store_asked) {
      host_.proposal->store_asked = false;  // asked again by try_open_store
    }
    if (proposal.probing.contains(node)) send_probe_again(node);
    if (proposal.store_open && !has_prepared(status, proposal.record)) send_prepare(node);
  }
  auto const has_it = host_.committed && status.committed == host_.committed->round &&
                      status.committed_in == host_.committed->epoch;
  if (host_.phase == Phase::running && !has_it)
    if (auto const* row = row_of(node)) send_commit(*row);
}

void HostTurn::failed(Incarnation node, Failure const& failure) {
  host_.members.at(node).failure_seen = failure.round;
  if (failure.round != host_.workers_round || host_.workers_round == RoundNumber{}) return;
  if (host_.phase == Phase::telling || host_.phase == Phase::over) return;
  if (host_.members.at(node).votes_only) return;  // its part of the round was given up
  auto const known = std::any_of(host_.failures.begin(), host_.failures.end(),
                                 [node](auto const& note) { return note.node == node; });
  if (known) return;
  host_.failures.push_back({node, failure, now_ - Duration{failure.age_ns}});
}

HostStep HostTurn::finish() {
  host_.expected_wake = next_wake();
  return {std::move(sends_),     host_.expected_wake, finished_,
          std::move(successor_), std::move(outcome_), why()};
}

TimePoint HostTurn::next_wake() const {
  auto wake = TimePoint::max();
  // What is past has had its effect.
  auto const at = [&](TimePoint moment) {
    if (moment > now_) wake = std::min(wake, moment);
  };
  if (host_.phase == Phase::over) return wake;
  if (settings_.leases) wake = host_.next_scan;
  if (host_.phase == Phase::gathering) {
    at(host_.gathering_until);
    at(host_.quiet_until);
    at(host_.back_until);
    at(host_.spares_until);
  }
  if (host_.phase == Phase::forming)
    for (auto const& [id, ghost] : host_.ghosts) {
      at(ghost.rests_at());
      at(host_.last_proof + ghost.dead);
    }
  if (host_.phase == Phase::running && host_.members.waiting() > 0) at(host_.quiet_until);
  if (!host_.leavers.empty()) at(host_.back_until);
  at(host_.hand_over_until);
  if (host_.ending) at(host_.ending->until);
  return std::max(wake, now_ + std::chrono::milliseconds{1});
}

void HostTurn::send(Incarnation to, Message message) {
  if (is_order(message))
    if (auto const found = host_.members.find(to); found != host_.members.end())
      found->second.ordered = now_;
  sends_.push_back({to, std::move(message)});
}

Why HostTurn::why() const {
  auto const count = static_cast<std::uint32_t>(host_.members.eligible());
  switch (host_.phase) {
    case Phase::gathering:
      if (host_.committed)
        return why::Holding{count, settings_.min_nodes, host_.gathering_until, host_.change_why};
      if (host_.quiet_until == TimePoint::max() || count < settings_.min_nodes)
        return why::WaitingForNodes{count, settings_.min_nodes, settings_.max_nodes};
      return why::LastCall{count, settings_.max_nodes, host_.quiet_until};
    case Phase::inquiring:
      return why::Inquiring{host_.inquiry->epoch,
                            static_cast<std::uint32_t>(host_.inquiry->votes.size())};
    case Phase::resuming:
      return why::Resuming{host_.epoch, host_.proposal->record.round};
    case Phase::forming: {
      auto const& proposal = *host_.proposal;
      auto const left = static_cast<std::uint32_t>(host_.to_stop.size());
      if (left > 0) return why::WaitingForStop{host_.workers_round, left};
      if (!proposal.store_open)
        return why::OpeningStore{proposal.record.round, proposal.table.front().host};
      return why::Preparing{proposal.record.round,
                            static_cast<std::uint32_t>(proposal.prepared.size()),
                            static_cast<std::uint32_t>(proposal.record.voters.size())};
    }
    case Phase::running:
      return why::Running{
          host_.committed->round, host_.committed->nodes, host_.committed->world_size,
          host_.committed->nodes - static_cast<std::uint32_t>(host_.to_finish.size())};
    case Phase::ending:
    case Phase::concluding:
      return why::Concluding{host_.ending->outcome.why};
    case Phase::telling:
      return why::Telling{static_cast<std::uint32_t>(host_.to_acknowledge.size())};
    case Phase::over:
      break;
  }
  if (host_.ending) return why::Over{host_.ending->outcome.success, host_.ending->outcome.why};
  if (host_.committed || successor_) return why::HandedOver{host_.change_why};
  return why::Over{false, "not enough nodes came in time"};
}

}  // namespace muster::membership
