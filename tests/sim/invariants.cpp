// SPDX-License-Identifier: Apache-2.0
// What must hold after every event, and at the end of a history.

#include "rendezvous/membership/quorum.hpp"
#include "tests/sim/world.hpp"

#include <algorithm>
#include <set>

namespace muster::sim {

using namespace membership;

// One record per round, whoever speaks of it.
void World::check_record(Record const& record) {
  auto const [found, is_new] = records.emplace(record.round.value, record);
  if (!is_new && !(found->second == record))
    violate("two records for round " + std::to_string(record.round.value));
  if (is_new) check_quorum(record);
  if (is_new && record.used.worker_failures > settings_.max_restarts)
    violate("more restarts than --max-restarts");
}

// Committed by a majority that holds it.
void World::check_quorum(Record const& record) {
  std::set<Incarnation> holders;
  for (auto const& node : nodes)
    if (status_of(node.state).prepared >= record.round)
      holders.insert(node.state.facts.incarnation);
  if (!has_quorum(record, holders, {}))
    violate("round " + std::to_string(record.round.value) + " was committed without a quorum");
}

// Ranks dense and unique, the size within bounds, survivors and given ranks where they were.
void World::check_table() {
  if (host.table.empty() || (last_table_ && *last_table_ == host.table)) return;
  auto const& table = host.table;
  std::uint32_t next = 0;
  std::set<Incarnation> seen;
  for (std::size_t i = 0; i < table.size(); ++i) {
    auto const& row = table[i];
    if (row.group_rank != i || row.rank_base != next) violate("ranks are not dense");
    if (!seen.insert(row.node).second) violate("a node has two ranks");
    if (settings_.given_ranks && index_of(row.node) != i) violate("a given rank was not obeyed");
    next += row.local_world_size;
  }
  if (table.size() < settings_.min_nodes || table.size() > settings_.max_nodes)
    violate("a round of " + std::to_string(table.size()) + " nodes");
  if (last_table_)
    for (auto const& old : *last_table_)
      for (auto const& row : table)
        if (row.node == old.node && row.group_rank != old.group_rank)
          violate("a survivor changed its rank");
  last_table_ = table;
}

// Nobody is evicted whose word arrived within `dead`.
void World::check_evictions(std::map<Incarnation, Member> const& before) {
  if (host.phase == Phase::gathering) return;  // it may have left, or have been refused
  for (auto const& [id, member] : before)
    if (!host.members.contains(id) && now - heard_[id] < settings_.dead)
      violate("n" + std::to_string(index_of(id)) + " was evicted though it was heard");
}

void World::check_end() {
  std::optional<bool> told;
  std::set<Incarnation> in_table;
  for (auto const& row : host.table) in_table.insert(row.node);
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    auto const& node = nodes[i];
    auto const name = "n" + std::to_string(i);
    if (!node.alive) continue;
    if (!node.ended()) violate(name + " never ends");
    if (node.workers != RoundNumber{}) violate(name + " leaves workers behind");
    if (!node.outcome) continue;
    auto const own_verdict = node.outcome->exit_code == exit_code_of(Errc::lost_quorum);
    if (own_verdict) continue;  // it never heard the outcome, and did not exit 0
    if (told && *told != node.outcome->success) violate("two outcomes");
    told = node.outcome->success;
  }
  if (!told || !*told) return;
  for (auto const id : in_table)
    if (nodes[index_of(id)].last_done != host.workers_round)
      violate("success, but n" + std::to_string(index_of(id)) + " was not done");
}

}  // namespace muster::sim
