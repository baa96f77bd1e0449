// SPDX-License-Identifier: Apache-2.0
// Before a round's workers start its nodes dial each other: what cannot be reached is named, and
// not left to a collective that hangs.

#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/probe_plan.hpp"

#include <algorithm>

namespace muster::membership {
namespace {

// Whether all of them had a place before, at the same addresses.
bool were_there(Table const& coming, Table const& before) {
  std::map<Incarnation, std::string const*> addresses;
  for (auto const& row : before) addresses.emplace(row.node, &row.address);
  return std::all_of(coming.begin(), coming.end(), [&](TableRow const& row) {
    auto const found = addresses.find(row.node);
    return found != addresses.end() && *found->second == row.address;
  });
}

}  // namespace

// Everybody dials the store and some of its peers, while the record is prepared.
void HostTurn::send_probes() {
  auto& proposal = *host_.proposal;
  if (!settings_.leases || proposal.table.size() < 2) return;
  proposal.tested = were_there(proposal.table, host_.table);
  for (std::size_t rank = 0; rank < proposal.table.size(); ++rank) send_probe(rank);
}

void HostTurn::send_probe_again(Incarnation node) {
  if (auto const rank = rank_in(host_.proposal->table, node)) send_probe(*rank);
}

void HostTurn::send_probe(std::size_t rank) {
  auto& proposal = *host_.proposal;
  auto const node = proposal.table[rank].node;
  auto const before = proposal.unreached.find(node);
  auto const failed = before != proposal.unreached.end();
  if (failed && before->second.at != TimePoint::max()) return;  // being judged
  Probe probe{proposal.record.round, failed ? before->second.tries : 0, {}};
  for (auto const peer : probed_ranks(rank, proposal.table.size(), proposal.tested))
    if (auto target = probe_target(peer); target.port != 0)
      probe.targets.push_back(std::move(target));
  if (probe.targets.empty()) return;
  proposal.probing.insert(node);
  send(node, std::move(probe));
}

// Rank 0 is dialled at the store, the others at their agent's listener, if it has one there: it
// listens where the rendezvous sees the node, and nobody answers at another address.
ProbeTarget HostTurn::probe_target(std::size_t rank) const {
  auto const& proposal = *host_.proposal;
  auto const& row = proposal.table[rank];
  auto const& master = proposal.record.master;
  if (rank == 0) return {row.host, master.address, master.port, true};
  auto const& facts = host_.members.at(row.node).facts;
  auto const listens = row.address == facts.address || is_loopback(facts.address);
  return {row.host, row.address, listens ? facts.control_port : std::uint16_t{0}, false};
}

void HostTurn::probed(Incarnation node, Probed const& result) {
  if (host_.phase != Phase::forming || host_.proposal->record.round != result.round) return;
  auto& proposal = *host_.proposal;
  auto const before = proposal.unreached.find(node);
  auto const tries = before == proposal.unreached.end() ? 0 : before->second.tries;
  if (result.attempt != tries) return;
  if (result.failures.empty()) {
    proposal.probing.erase(node);
    proposal.unreached.erase(node);
    return;
  }
  auto const& failure = result.failures.front();
  for (std::size_t rank = 0; rank < proposal.table.size(); ++rank)
    if (proposal.table[rank].host == failure.target.host && probe_target(rank) == failure.target)
      proposal.unreached[node] = {failure, proposal.table[rank].node, now_, tries + 1};
}

// A node that is dying, or was away for a moment, is somebody else's business: only two that are
// both heard afterwards, and fail once more, are to blame.
bool HostTurn::judge_unreached() {
  constexpr std::uint32_t kTries = 2;
  for (auto& [node, unreached] : host_.proposal->unreached) {
    if (unreached.at == TimePoint::max()) continue;  // asked again
    auto const from = host_.members.find(node), to = host_.members.find(unreached.target);
    if (from == host_.members.end() || to == host_.members.end()) continue;
    if (from->second.heard <= unreached.at || to->second.heard <= unreached.at) continue;
    if (unreached.tries < kTries) {
      unreached.at = TimePoint::max();
      send_probe_again(node);
      continue;
    }
    end({false, exit_code_of(Errc::refused), unreached_text(node, unreached.failure)});
    return true;
  }
  return false;
}

std::string HostTurn::unreached_text(Incarnation node, ProbeFailure const& failure) const {
  for (auto const& row : host_.proposal->table)
    if (row.node == node) return describe({row.host, row.address, 0}, failure);
  return describe({}, failure);
}

}  // namespace muster::membership
