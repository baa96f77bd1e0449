// SPDX-License-Identifier: Apache-2.0
// How a round comes to be: its store, PREPARE, COMMIT. The test of its network: host_probe.cpp.

#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/quorum.hpp"
#include "rendezvous/membership/store_callers.hpp"

#include <algorithm>

namespace muster::membership {

// A fresh store is opened while old workers still stop; one at a fixed port is renewed only after.
bool HostTurn::try_open_store() {
  auto& proposal = *host_.proposal;
  if (proposal.store_asked) return false;
  if (settings_.store_at_endpoint && !host_.to_stop.empty()) return false;
  proposal.store_asked = true;
  send(proposal.table.front().node, OpenStore{proposal.record.round, proposal.table.front().address,
                                              store_callers(proposal.table, host_.members)});
  return true;
}

// A node calls by another address than before: so may its workers, running or about to start. Who
// holds the store hears of all, for it may have missed some.
void HostTurn::admit_to_store(Incarnation node) {
  auto const has_store = host_.phase == Phase::forming && host_.proposal->store_asked;
  if (!has_store && host_.phase != Phase::running && host_.phase != Phase::resuming) return;
  auto const& table = has_store ? host_.proposal->table : host_.table;
  auto const round = has_store ? host_.proposal->record.round : host_.workers_round;
  if (table.empty() || table.front().group_rank != 0) return;  // not known yet
  auto const& first = table.front().node;
  for (auto const& row : table) {
    if (row.node != node) continue;
    auto const rows = node == first ? table : Table{row};
    return send(first, OpenStore{round, {}, store_callers(rows, host_.members)});
  }
}

void HostTurn::store_opened(Incarnation node, StoreOpened const& opened) {
  if (host_.phase != Phase::forming || host_.proposal->record.round != opened.round) return;
  auto& proposal = *host_.proposal;
  if (proposal.store_open || proposal.table.front().node != node) return;
  if (!opened.error.empty())
    return end({false, 1,
                "host " + proposal.table.front().host +
                    " cannot open the workers' store: " + opened.error});
  proposal.store_open = true;
  // Where it was opened, whatever nodes that are on their way out still dial.
  proposal.record.master = {proposal.table.front().address, opened.port};
  send_probes();
  for (auto const& [id, member] : host_.members) send_prepare(id);
}

// Only voters of the coming record or of those that it builds on are asked.
void HostTurn::send_prepare(Incarnation node) {
  if (votes_on_proposal(node)) send(node, Prepare{host_.proposal->record, host_.proposal->bases});
}

bool HostTurn::votes_on_proposal(Incarnation node) const {
  auto const& bases = host_.proposal->bases;
  return is_among(host_.proposal->record.voters, node) ||
         std::any_of(bases.begin(), bases.end(),
                     [node](Electorate const& base) { return is_among(base.voters, node); });
}

bool HostTurn::agreed(std::set<Incarnation> answered,
                      std::set<Incarnation> const& counted_out) const {
  auto const& proposal = *host_.proposal;
  auto const votes = is_among(proposal.record.voters, host_.self);
  if (!votes) answered.insert(host_.self);  // a host without a vote breaks ties only
  auto const suffices = [&](Electorate const& base) {
    return has_quorum(base, answered, counted_out);
  };
  return suffices(electorate_of(proposal.record)) &&
         std::all_of(proposal.bases.begin(), proposal.bases.end(), suffices);
}

bool HostTurn::votes_suffice() const {
  return agreed(host_.proposal->prepared, host_.proven_dead);
}

// Also if the dead lived, and were against it.
bool HostTurn::living_suffice() const {
  auto living = host_.proposal->prepared;
  for (auto const node : host_.proven_dead) living.erase(node);
  return agreed(std::move(living), {});
}

// One of the voters that keep a silent node's lease is among those who answer, and vouches for it.
// Where those are a quorum only because the dead are counted out it may be one of the dead: whom
// they vouched for nobody says, and they may have done so until they died.
bool HostTurn::ghosts_rest() const {
  if (host_.ghosts.empty()) return true;
  auto const vouched = living_suffice() ? TimePoint::min() : host_.last_proof;
  return std::all_of(host_.ghosts.begin(), host_.ghosts.end(), [&](auto const& entry) {
    auto const& ghost = entry.second;
    return std::max(ghost.rests_at(), vouched + ghost.dead) <= now_;
  });
}

bool HostTurn::try_commit() {
  auto const& proposal = *host_.proposal;
  if (!proposal.store_open || !proposal.probing.empty() || !host_.to_stop.empty()) return false;
  if (!votes_suffice() || !ghosts_rest()) return false;
  adopt_round();
  for (auto const& row : host_.table) {
    host_.to_finish.insert(row.node);
    send_commit(row);
  }
  std::vector<Incarnation> leavers;
  for (auto const& [id, member] : host_.members)
    if (member.leaving && !member.votes_only && id != host_.self) leavers.push_back(id);
  for (auto const id : leavers) release(id);
  count_out_voters();
  tell_spares();
  auto const own = host_.members.find(host_.self);
  if (own != host_.members.end() && own->second.leaving)
    host_.hand_over_until = now_ + settings_.outcome_patience;
  return true;
}

void HostTurn::adopt_round() {
  auto& record = host_.proposal->record;
  host_.committed = std::move(record);
  host_.table = std::move(host_.proposal->table);
  host_.proposal.reset();
  host_.failures.clear();
  host_.ghosts.clear();
  host_.given_up.clear();
  std::erase_if(host_.confirmed, [this](auto const& entry) { return !is_voter(entry.first); });
  host_.to_finish.clear();
  host_.workers_round = host_.committed->round;
  host_.started = now_;
  host_.next_round.reset();
  host_.held = false;
  host_.back_until = TimePoint::max();
  host_.expected_back = 0;
  host_.spares.clear();
  host_.spares_until = TimePoint::max();
  host_.quiet_at_most = TimePoint::max();
  host_.phase = Phase::running;
  std::set<Incarnation> seated;
  for (auto const& row : host_.table) seated.insert(row.node);
  for (auto const& [id, member] : host_.members)
    host_.members.mark(id, &Member::seated, seated.contains(id));
}

void HostTurn::send_commit(TableRow const& row) {
  Commit commit{*host_.committed, row, {}};
  if (host_.table.size() <= kNamedHosts)
    for (auto const& other : host_.table) commit.hosts.push_back(other.host);
  send(row.node, std::move(commit));
}

TableRow const* HostTurn::row_of(Incarnation node) const {
  auto const rank = rank_in(host_.table, node);
  return rank ? &host_.table[*rank] : nullptr;
}

std::optional<std::size_t> HostTurn::rank_in(Table const& table, Incarnation node) const {
  auto const member = host_.members.find(node);
  auto const place = member == host_.members.end() ? 0 : member->second.place;
  if (place < table.size() && table[place].node == node) return place;
  for (std::size_t rank = 0; rank < table.size(); ++rank)
    if (table[rank].node == node) return rank;
  return std::nullopt;
}

std::string HostTurn::host_of(Incarnation node) const {
  auto const* row = row_of(node);
  return row ? row->host : "?";
}

}  // namespace muster::membership
