// SPDX-License-Identifier: Apache-2.0
// Who belongs to the job: newcomers, members that call again or return under a new host, those that
// leave, and those that are lost.

#include "rendezvous/membership/admission.hpp"
#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/quorum.hpp"
#include "rendezvous/membership/store_callers.hpp"

#include <algorithm>
#include <utility>

namespace muster::membership {
namespace {

// Where haste wins nothing, people hear of a silent node this early.
constexpr Duration kSuspectAfter = std::chrono::seconds{5};

Refused refused(Error const& error) {
  return {error.code, error.what, error.hint};
}

bool only_consequences(std::vector<FailureNote> const& failures) {
  return std::all_of(failures.begin(), failures.end(),
                     [](auto const& note) { return note.failure.is_consequence; });
}

}  // namespace

void HostTurn::join(Received const& event, Join const& request) {
  auto const from = event.header.incarnation;
  if (host_.phase == Phase::over) {
    if (!host_.ending || !host_.members.contains(from)) return;
    tell(from);  // it missed the end
    return send(from, Released{});
  }
  host_.spares.erase(from);
  auto const found = host_.members.find(from);
  if (found != host_.members.end() && found->second.here && host_.phase != Phase::inquiring) {
    auto& member = found->second;  // it calls again: a connection was lost, nothing else
    member.heard = now_;
    member.connected = true;
    member.reached_at = event.reached_at;
    send(from, Welcome{host_.name, settings_});
    update(from, request.status);
    if (!host_.members.contains(from)) return;
    reconcile(from, request.status);
    return calls_from(from, event.seen_from, request.facts);
  }
  auto const of_a_world = request.status.committed != RoundNumber{} || found != host_.members.end();
  if (!of_a_world) return newcomer(event, request);
  auto const unknown_world = !host_.committed && !host_.proposal;
  if (unknown_world || host_.phase == Phase::inquiring) return inquire(event, request);
  returning(event, request);
}

// It may have come by another address. Others will find it there from the next round on; a coming
// round that has the old one is formed anew.
void HostTurn::calls_from(Incarnation node, std::string const& address, NodeFacts const& facts) {
  auto& member = host_.members.at(node);
  auto const before = member.facts.address;
  if (facts.address.empty()) member.facts.address = address;
  member.facts.control_port = facts.control_port;
  if (std::exchange(member.seen_from, address) == address) return;
  auto const has_moved =
      member.facts.address != before && in_proposal(node) &&
      std::any_of(host_.proposal->table.begin(), host_.proposal->table.end(),
                  [&](TableRow const& row) { return row.node == node && row.address == before; });
  if (has_moved)
    return drop_proposal(Reason::member_joined,
                         "node " + member.facts.host + " has another address: " + address);
  if (!is_own_address(facts, address)) admit_to_store(node);
}

// Who calls, as it is known before anything is decided of it.
Member HostTurn::caller(Received const& event, NodeFacts const& facts) {
  Member member;
  member.facts = facts;
  member.facts.incarnation = event.header.incarnation;
  if (member.facts.address.empty()) member.facts.address = event.seen_from;
  member.seen_from = event.seen_from;
  member.reached_at = event.reached_at;
  member.arrival = ++host_.arrivals;
  member.heard = now_;
  return member;
}

// The table is told row by row by those whom it names.
void HostTurn::put_row(TableRow const& row, Incarnation node) {
  auto const after = std::upper_bound(
      host_.table.begin(), host_.table.end(), row.group_rank,
      [](std::uint32_t rank, TableRow const& each) { return rank < each.group_rank; });
  auto const place = host_.table.insert(after, row);
  host_.members.at(node).place = static_cast<std::size_t>(place - host_.table.begin());
}

// A member of the round that this host has taken over.
void HostTurn::returning(Received const& event, Join const& request) {
  auto const from = event.header.incarnation;
  auto const found = host_.members.find(from);
  auto const known = found != host_.members.end();
  auto const same_world = event.header.generation == host_.generation &&
                          request.status.committed <= host_.highest &&
                          host_.phase != Phase::forming;
  if (same_world && !known && host_.phase == Phase::telling) {
    tell(from);  // it was given up while the others were told
    return send(from, Released{});
  }
  if (!same_world || (!known && host_.expected_back == 0)) {
    if (event.header.generation != host_.generation || !is_needed(from))
      return send(from, Evicted{"the job went on without this node under host " + host_.name});
    keep_for_its_vote(event, request.facts);
    send(from, Welcome{host_.name, settings_});
    update(from, request.status);
    return reconcile(from, request.status);
  }
  if (!known) --host_.expected_back;
  auto const promised = known ? found->second.dead_sent : host_.absent.dead;
  auto member = caller(event, request.facts);
  member.row = request.row;
  member.seated = true;
  member.dead_sent = member.dead_held = promised;
  auto const row_is_current = request.status.committed == host_.workers_round;
  host_.members.put(from, std::move(member));
  if (request.row && row_is_current) put_row(*request.row, from);
  if (row_is_current && host_.phase == Phase::running) host_.to_finish.insert(from);
  if ((host_.phase == Phase::gathering || host_.phase == Phase::ending) &&
      request.status.stopped < host_.workers_round)
    host_.to_stop.insert(from);
  send(from, Welcome{host_.name, settings_});
  update(from, request.status);
  if (host_.members.contains(from)) reconcile(from, request.status);
  if (!is_own_address(request.facts, event.seen_from)) admit_to_store(from);
  auto const back = host_.members.find(from);
  if (host_.phase == Phase::running && back != host_.members.end())
    check_resumed(from, back->second);
}

// A voter is counted out by a record without it, committed, and not before: its vote may decide
// whether that record can be, and one that is sent away forgets what it has promised.
bool HostTurn::is_needed(Incarnation node) const {
  return is_voter(node) || (host_.proposal && votes_on_proposal(node));
}

// It comes after it was given up, or to a reign whose record does not name it.
void HostTurn::keep_for_its_vote(Received const& event, NodeFacts const& facts) {
  auto const from = event.header.incarnation;
  auto member = caller(event, facts);
  if (member.facts.host.empty() && host_.committed)
    for (auto const& seat : host_.committed->voters)
      if (seat.node == from) member.facts.host = seat.host;
  member.dead_sent = member.dead_held = std::max(settings_.dead, settings_.dead_at_min);
  member.votes_only = member.leaving = true;
  host_.members.put(from, std::move(member));
}

// Its lease is renewed with everybody's, so its workers may live: no round begins before they are
// stopped, or it has been silent for long enough.
void HostTurn::watch_over(Incarnation node, Status const& status) {
  auto const& member = host_.members.at(node);
  if (!member.votes_only) return;
  // It starts nothing of those rounds any more: it may take part again, as a newcomer does. That it
  // had started nothing when it spoke is not enough, for its word may have been long under way.
  if (status.stopped >= host_.workers_round) {
    host_.ghosts.erase(node);
    host_.to_stop.erase(node);
    host_.members.at(node).votes_only = false;
    return host_.members.mark(node, &Member::leaving, false);
  }
  host_.ghosts[node] = {now_, std::max(member.dead_sent, member.dead_held)};
  if (host_.phase == Phase::gathering || host_.phase == Phase::forming ||
      host_.phase == Phase::ending)
    host_.to_stop.insert(node);
}

// The record is committed: who is not among its voters is free, and comes again as a newcomer.
void HostTurn::count_out_voters() {
  std::vector<Incarnation> free;
  for (auto const& [id, member] : host_.members)
    if (member.votes_only && !is_voter(id)) free.push_back(id);
  for (auto const id : free) {
    send(id, Evicted{"the job went on without this node under host " + host_.name});
    host_.to_stop.erase(id);
    host_.members.erase(id);
  }
}

void HostTurn::newcomer(Received const& event, Join const& request) {
  auto const from = event.header.incarnation;
  // Nobody need wait for the time of workers that are known to be dead.
  if (request.former != Incarnation{}) {
    host_.ghosts.erase(request.former);
    host_.spares.erase(request.former);
  }
  supersede(request);
  if (event.header.epoch != Epoch{}) host_.follows = true;
  if (auto const error = refuse_newcomer(host_, request, settings_))
    return send(from, refused(*error));
  admit(from, caller(event, request.facts));
}

void HostTurn::admit(Incarnation node, Member member) {
  member.dead_sent = member.dead_held = settings_.dead;
  host_.members.put(node, std::move(member));
  if (host_.gathering_until == TimePoint::max()) {
    host_.gathering_until = now_ + settings_.join_timeout;
    host_.next_scan = now_;
  }
  if (host_.members.eligible() >= settings_.min_nodes) {
    if (host_.quiet_at_most == TimePoint::max())
      host_.quiet_at_most = now_ + kMostQuietPeriods * settings_.quiet;
    host_.quiet_until = std::min(now_ + settings_.quiet, host_.quiet_at_most);
  }
  send(node, Welcome{host_.name, settings_});
  if (host_.phase == Phase::gathering && host_.members.eligible() >= settings_.max_nodes) return;
  if (host_.phase == Phase::resuming) return send_waiting({node});  // all find it in this moment
  if (host_.phase == Phase::running)
    host_.change_why = "node " + host_.members.at(node).facts.host + " has come, and waits";
  say_waiting(node);
}

// A node that returns with a new address or as a new process replaces its old self, whose workers
// may still live somewhere.
void HostTurn::supersede(Join const& request) {
  auto const& facts = request.facts;
  auto replaced = host_.members.with_node_id(facts.node_id, [](Member const&) { return true; });
  if (!replaced)
    replaced = host_.members.with_rank(facts.given_rank, [&facts](Member const& old) {
      return old.facts.host == facts.host && !old.connected;
    });
  if (!replaced) return;
  send(*replaced, Evicted{"node " + facts.host + " has taken its place"});
  lost(*replaced, "it has come back as another process");
}

// Where enough are left the others go on; else the job ends with the leaver's code, as if it had
// said so for all.
void HostTurn::leave(Incarnation node, Leave const& request) {
  auto const& member = host_.members.at(node);
  if (member.leaving) return;
  auto const name = member.facts.host;
  auto const why = request.why.empty() ? "node " + name + " left" : request.why;
  auto const enough_stay =
      settings_.succession && host_.members.eligible() >= settings_.min_nodes + std::size_t{1};
  auto const unformed =
      !host_.committed && (host_.phase == Phase::gathering || host_.phase == Phase::forming);
  if (host_.phase == Phase::inquiring || (node == host_.self && unformed && enough_stay))
    return leave_alone(node, request.exit_code, why);
  if (!member.seated && node != host_.self) {
    send(node, Outcome{false, request.exit_code, why, {}});
    auto const proposed = in_proposal(node);
    host_.members.erase(node);
    return proposed ? drop_proposal(Reason::member_left, why) : after_departure();
  }
  auto const coming_back = host_.phase == Phase::resuming || awaits_return();
  auto const at_most = host_.members.eligible() + host_.members.absent() + host_.expected_back;
  if (settings_.succession && coming_back && at_most > settings_.min_nodes) {
    host_.leavers.emplace(node, request);
    return;
  }
  auto const goes_on = host_.committed && enough_stay &&
                       (host_.phase == Phase::running || host_.phase == Phase::forming ||
                        host_.phase == Phase::gathering);
  if (!goes_on) return end({false, request.exit_code, why});
  host_.members.mark(node, &Member::leaving, true);
  change_round(Reason::member_left, why);
}

// Those who wanted to leave before the others had come back from under the host before.
bool HostTurn::try_let_go() {
  if (host_.leavers.empty() || awaits_return()) return false;
  auto const [node, request] = *host_.leavers.begin();
  host_.leavers.erase(node);
  if (host_.members.contains(node)) leave(node, request);
  return true;
}

// A host that does not reign yet, or has formed no round, has nobody's job to end: only its own
// node goes, and the others look for another host.
void HostTurn::leave_alone(Incarnation node, std::int32_t exit_code, std::string const& why) {
  send(node, Outcome{false, exit_code, why, {}});
  host_.members.erase(node);
  if (node != host_.self) return;
  host_.phase = Phase::over;
  finished_ = true;
}

bool HostTurn::in_proposal(Incarnation node) const {
  if (host_.phase != Phase::forming) return false;
  auto const& table = host_.proposal->table;
  return std::any_of(table.begin(), table.end(),
                     [node](auto const& row) { return row.node == node; });
}

// The round that was being formed cannot be. Before the first one nothing has changed for anybody.
void HostTurn::drop_proposal(Reason reason, std::string const& why) {
  if (host_.committed) return change_round(reason, why);
  host_.proposal.reset();
  host_.phase = Phase::gathering;
  after_departure();
}

// The round without it is committed, and its workers are dead. Until then it votes with the others.
void HostTurn::release(Incarnation node) {
  auto const name = host_.members.at(node).facts.host;
  host_.members.erase(node);
  host_.to_stop.erase(node);
  host_.to_finish.erase(node);
  send(node, Outcome{false, exit_code_of(Errc::canceled), "node " + name + " left the job", {}});
}

void HostTurn::lost(Incarnation node, std::string const& why) {
  auto const found = host_.members.find(node);
  if (found == host_.members.end()) return;
  auto const member = found->second;
  auto const text = "node " + member.facts.host + " is lost: " + why;
  auto const was_done = member.seated && host_.phase == Phase::running &&
                        !host_.to_finish.contains(node) && member.here;
  auto const holds_store = !host_.table.empty() && host_.table.front().node == node;
  if (member.seated && settings_.leases && !host_.proven_dead.contains(node))
    host_.ghosts[node] = {member.heard, std::max(member.dead_sent, member.dead_held)};
  host_.to_stop.erase(node);
  host_.to_acknowledge.erase(node);
  host_.members.erase(node);
  if (is_needed(node)) host_.given_up[node] = member.facts;
  switch (host_.phase) {
    case Phase::gathering:
      if (member.seated) host_.change_why = text;
      return after_departure();
    case Phase::forming:
      if (in_proposal(node) || member.seated) drop_proposal(Reason::member_lost, text);
      return;
    case Phase::running:
      // What it had to do is done, and nobody needs it any more.
      if (!member.seated || (was_done && !holds_store)) {
        host_.change_why = text;
        return after_departure();
      }
      host_.to_finish.erase(node);
      return change_round(Reason::member_lost, text);
    case Phase::ending:
      return lost_in_ending(text);
    case Phase::inquiring:
    case Phase::resuming:
    case Phase::concluding:
    case Phase::telling:
    case Phase::over:
      return;
  }
}

// Ranks that only lost a peer were not the cause.
void HostTurn::lost_in_ending(std::string const& text) {
  auto& ending = *host_.ending;
  if (!ending.by_workers || !only_consequences(host_.failures)) return;
  ending.outcome = {false, exit_code_of(Errc::below_min), text};
  ending.by_workers = false;
}

void HostTurn::scan_leases() {
  if (now_ < host_.next_scan || !settings_.leases) return;
  host_.next_scan = now_ + settings_.lease_every / 4;
  if (host_.phase == Phase::resuming || host_.phase == Phase::inquiring) return;
  if (std::exchange(host_.waiting_due, false) &&
      (host_.phase == Phase::gathering || host_.phase == Phase::running))
    send_waiting(everybody_here());
  std::vector<std::pair<Incarnation, std::string>> silent;
  auto suspected = false;
  for (auto& [id, member] : host_.members) {
    auto const limit = std::max(member.dead_sent, member.dead_held);
    auto const due = member.heard + limit;
    if (now_ < due) host_.next_scan = std::min(host_.next_scan, due);
    if (now_ < std::min(due, member.heard + kSuspectAfter)) continue;  // nearly always
    auto verdict = judge_member(member.heard, now_, limit);
    if (!verdict.alive) {
      silent.emplace_back(id, std::move(verdict.why));
    } else if (!member.suspected) {
      member.suspected = suspected = true;
      host_.change_why = "node " + member.facts.host + " is " + verdict.why;
    }
  }
  for (auto const& [id, text] : silent) lost(id, text);
  if (suspected && silent.empty()) say_waiting(std::nullopt);
}

// The quiet period belongs to those who are there.
void HostTurn::after_departure() {
  if (host_.members.eligible() < settings_.min_nodes)
    host_.quiet_until = host_.quiet_at_most = TimePoint::max();
  say_waiting(std::nullopt);
}

}  // namespace muster::membership
