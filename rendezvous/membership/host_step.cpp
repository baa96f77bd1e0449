// SPDX-License-Identifier: Apache-2.0
// What each event means. Whatever it changed, HostTurn::advance then applies the rules of rounds.

#include "rendezvous/membership/host_step.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/membership/admission.hpp"
#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/lease.hpp"

#include <algorithm>

namespace muster::membership {
namespace {

constexpr std::size_t kToldOfEachNewcomer = 32;

Refused refused(Error const& error) {
  return {error.code, error.what, error.hint};
}

bool only_consequences(std::vector<FailureNote> const& failures) {
  return std::all_of(failures.begin(), failures.end(),
                     [](auto const& note) { return note.failure.is_consequence; });
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
}

void HostTurn::take(HostEvent const& event) {
  std::visit(Overload{
                 [this](Received const& e) { received(e); },
                 [](Disconnected const&) {},  // proves nothing; the lease decides
                 [this](Died const& e) {
                   host_.proven_dead.insert(e.node);
                   lost(e.node, "its agent is gone and its workers are dead");
                 },
                 [this](Tick const&) { scan_leases(); },
             },
             event);
}

void HostTurn::received(Received const& event) {
  auto const from = event.header.incarnation;
  if (auto const* request = std::get_if<Join>(&event.message)) return join(event, *request);
  if (auto const* word = std::get_if<LastWord>(&event.message)) return take(Died{word->node});
  auto const found = host_.members.find(from);
  if (found == host_.members.end()) return;
  if (event.header.generation != host_.generation || event.header.epoch != host_.epoch)
    return send(from, Deposed{host_.generation, host_.epoch});
  found->second.heard = now_;

  std::visit(Overload{
                 [&](Lease const& m) {
                   send(from, Ack{m.stamp_ns, found->second.failure_seen});
                   update(from, m.status);
                   reconcile(from, m.status);
                 },
                 [&](StoreOpened const& m) { store_opened(from, m); },
                 [&](Prepared const& m) {
                   if (host_.proposal && host_.proposal->record.round == m.round)
                     host_.proposal->prepared.insert(from);
                 },
                 [&](Stopped const& m) {
                   if (m.round >= host_.workers_round) host_.to_stop.erase(from);
                 },
                 [&](Failed const& m) { failed(from, m.failure); },
                 [&](Done const& m) {
                   if (m.round == host_.workers_round) host_.to_finish.erase(from);
                 },
                 [&](OutcomeAck const&) { host_.to_acknowledge.erase(from); },
                 [&](Leave const& m) { leave(from, m); },
                 [](auto const&) {},  // what only a host says, and votes: not for us
             },
             event.message);
}

void HostTurn::join(Received const& event, Join const& request) {
  auto const from = event.header.incarnation;
  auto const found = host_.members.find(from);
  if (found == host_.members.end()) return newcomer(event, request);
  found->second.heard = now_;  // it calls again: a connection was lost, nothing else
  send(from, Welcome{host_.name, settings_});
  update(from, request.status);
  reconcile(from, request.status);
}

void HostTurn::newcomer(Received const& event, Join const& request) {
  auto const from = event.header.incarnation;
  if (auto const error = refuse_newcomer(host_, request, settings_))
    return send(from, refused(*error));
  Member member{request.facts, ++host_.arrivals, now_, event.reached_at, {}};
  member.facts.incarnation = from;
  if (member.facts.address.empty()) member.facts.address = event.seen_from;
  host_.members.emplace(from, std::move(member));
  if (host_.gathering_until == TimePoint::max()) {
    host_.gathering_until = now_ + settings_.join_timeout;
    host_.next_scan = now_;
  }
  if (host_.members.size() >= settings_.min_nodes) {
    if (host_.quiet_at_most == TimePoint::max())
      host_.quiet_at_most = now_ + kMostQuietPeriods * settings_.quiet;
    host_.quiet_until = std::min(now_ + settings_.quiet, host_.quiet_at_most);
  }
  send(from, Welcome{host_.name, settings_});
  if (host_.members.size() < settings_.max_nodes) say_waiting(from);
}

// What a member says of itself, whether or not the message that told it first arrived.
void HostTurn::update(Incarnation node, Status const& status) {
  if (host_.proposal && status.prepared == host_.proposal->record.round)
    host_.proposal->prepared.insert(node);
  if (host_.workers_round == RoundNumber{}) return;
  if (status.stopped >= host_.workers_round) host_.to_stop.erase(node);
  if (status.done == host_.workers_round) host_.to_finish.erase(node);
}

// Says again what the member does not have yet.
void HostTurn::reconcile(Incarnation node, Status const& status) {
  if (host_.phase == Phase::telling || host_.phase == Phase::over) return tell(node);
  if (host_.to_stop.contains(node) && host_.phase != Phase::running &&
      host_.phase != Phase::gathering) {
    std::optional<std::int64_t> grace;
    if (host_.stop_grace) grace = host_.stop_grace->count();
    send(node, Stop{host_.workers_round, grace, host_.stop_why});
  }
  if (host_.proposal) {
    auto const& proposal = *host_.proposal;
    if (!proposal.store_open && !proposal.record.outcome && proposal.table.front().node == node &&
        (!settings_.store_at_endpoint || host_.to_stop.empty()))
      send(node, OpenStore{proposal.record.round});
    if (proposal.store_open && status.prepared < proposal.record.round) send_prepare(node);
  }
  if (host_.phase == Phase::running && status.committed < host_.committed->round)
    for (auto const& row : host_.table)
      if (row.node == node) send_commit(row);
}

void HostTurn::failed(Incarnation node, Failure const& failure) {
  host_.members.at(node).failure_seen = failure.round;
  if (failure.round != host_.workers_round || host_.workers_round == RoundNumber{}) return;
  if (host_.phase == Phase::telling || host_.phase == Phase::over) return;
  auto const known = std::any_of(host_.failures.begin(), host_.failures.end(),
                                 [node](auto const& note) { return note.node == node; });
  if (known) return;
  host_.failures.push_back({node, failure, now_ - Duration{failure.age_ns}});
}

void HostTurn::leave(Incarnation node, Leave const& request) {
  auto const& name = host_.members.at(node).facts.host;
  if (host_.phase == Phase::gathering && node != host_.self) {
    send(node, Outcome{false, request.exit_code, request.why, {}});
    host_.members.erase(node);
    return after_departure();
  }
  end({false, request.exit_code, request.why.empty() ? "node " + name + " left" : request.why});
}

void HostTurn::lost(Incarnation node, std::string const& why) {
  auto const found = host_.members.find(node);
  if (found == host_.members.end()) return;
  auto const name = found->second.facts.host;
  host_.to_stop.erase(node);
  host_.to_finish.erase(node);
  host_.to_acknowledge.erase(node);
  host_.members.erase(found);
  RecordOutcome const loss{false, exit_code_of(Errc::below_min),
                           "node " + name + " is lost: " + why};
  switch (host_.phase) {
    case Phase::gathering:
      return after_departure();
    case Phase::forming:
      if (host_.committed) return end(loss);
      host_.proposal.reset();  // nobody started anything: gather again
      host_.phase = Phase::gathering;
      return after_departure();
    case Phase::running:
      return end(loss);
    case Phase::ending:
      // Ranks that only lost a peer were not the cause.
      if (host_.ending->by_workers && only_consequences(host_.failures)) {
        host_.ending->outcome = loss;
        host_.ending->by_workers = false;
      }
      return;
    case Phase::concluding:
    case Phase::telling:
    case Phase::over:
      return;
  }
}

void HostTurn::scan_leases() {
  if (now_ < host_.next_scan || !settings_.leases) return;
  host_.next_scan = now_ + settings_.lease_every / 4;
  std::vector<std::pair<Incarnation, std::string>> silent;
  for (auto const& [id, member] : host_.members)
    if (auto verdict = judge_member(member.heard, now_, settings_); !verdict.alive)
      silent.emplace_back(id, std::move(verdict.why));
  for (auto const& [id, text] : silent) lost(id, text);
}

// In a small job everybody hears who is there; in a large one only the newcomer does, so that
// joining stays a constant number of messages a node.
void HostTurn::say_waiting(std::optional<Incarnation> newcomer) {
  Waiting note{static_cast<std::uint32_t>(host_.members.size()),
               settings_.min_nodes,
               settings_.max_nodes,
               {}};
  for (auto const& [id, member] : host_.members) {
    if (note.hosts.size() == kNamedHosts) break;
    note.hosts.push_back(member.facts.host);
  }
  if (host_.members.size() <= kToldOfEachNewcomer) {
    for (auto const& [id, member] : host_.members) send(id, note);
  } else if (newcomer) {
    send(*newcomer, std::move(note));
  }
}

// The quiet period belongs to those who are there.
void HostTurn::after_departure() {
  if (host_.members.size() < settings_.min_nodes)
    host_.quiet_until = host_.quiet_at_most = TimePoint::max();
  say_waiting(std::nullopt);
}

void HostTurn::refuse_all(Error const& error) {
  for (auto const& [id, member] : host_.members) send(id, refused(error));
  host_.phase = Phase::over;
  finished_ = true;
}

HostStep HostTurn::finish() {
  host_.expected_wake = next_wake();
  return {std::move(sends_), host_.expected_wake, finished_, why()};
}

TimePoint HostTurn::next_wake() const {
  auto wake = TimePoint::max();
  if (host_.phase == Phase::over) return wake;
  if (settings_.leases) wake = std::min(wake, host_.next_scan);
  if (host_.phase == Phase::gathering)
    wake = std::min({wake, host_.gathering_until, host_.quiet_until});
  if (host_.ending) wake = std::min(wake, host_.ending->until);
  return std::max(wake, now_ + std::chrono::milliseconds{1});
}

void HostTurn::send(Incarnation to, Message message) {
  sends_.push_back({to, std::move(message)});
}

Why HostTurn::why() const {
  auto const count = static_cast<std::uint32_t>(host_.members.size());
  switch (host_.phase) {
    case Phase::gathering:
      if (host_.quiet_until == TimePoint::max() || count < settings_.min_nodes)
        return why::WaitingForNodes{count, settings_.min_nodes, settings_.max_nodes};
      return why::LastCall{count, settings_.max_nodes, host_.quiet_until};
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
  if (!host_.ending) return why::Over{false, "not enough nodes came in time"};
  return why::Over{host_.ending->outcome.success, host_.ending->outcome.why};
}

}  // namespace muster::membership
