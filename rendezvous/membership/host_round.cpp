// SPDX-License-Identifier: Apache-2.0
// The rules of rounds: when one is sealed, prepared, committed, and what a failure leads to.

#include "rendezvous/membership/host_turn.hpp"
#include "rendezvous/membership/lease.hpp"
#include "rendezvous/membership/quorum.hpp"
#include "rendezvous/membership/rank_order.hpp"

#include <algorithm>

namespace muster::membership {

void HostTurn::advance() {
  while (step()) {
  }
}

// Applies one rule if one applies.
bool HostTurn::step() {
  switch (host_.phase) {
    case Phase::gathering:
      return try_seal();
    case Phase::forming:
      return try_open_store() || try_commit();
    case Phase::running:
      return react_to_failure() || try_succeed();
    case Phase::ending:
      return try_conclude();
    case Phase::concluding:
      return try_commit_outcome();
    case Phase::telling:
      return try_finish();
    case Phase::over:
      return false;
  }
  return false;
}

bool HostTurn::try_seal() {
  auto const count = host_.members.size();
  auto const enough = count >= settings_.min_nodes && now_ >= host_.quiet_until;
  if (count == 0 || (count < settings_.max_nodes && !enough)) {
    if (now_ >= host_.gathering_until) give_up_gathering();
    return false;
  }
  begin_round(Reason::first_round);
  return true;
}

void HostTurn::give_up_gathering() {
  std::string names;
  for (auto const& [id, member] : host_.members) {
    if (!names.empty()) names += ", ";
    names += member.facts.host;
    if (settings_.given_ranks) names += " (rank " + std::to_string(member.facts.given_rank) + ")";
  }
  auto const have = std::to_string(host_.members.size());
  refuse_all({Errc::rendezvous_timeout,
              "run " + host_.run_id + ": " + have + " of " + std::to_string(settings_.min_nodes) +
                  " nodes joined in " + seconds_text(settings_.join_timeout) + ": " + names,
              "start muster on the missing nodes, or allow fewer with --nnodes=" + have + ":" +
                  std::to_string(settings_.max_nodes)});
}

void HostTurn::begin_round(Reason reason) {
  std::vector<Member const*> members;
  for (auto const& [id, member] : host_.members) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](auto const* a, auto const* b) { return a->arrival < b->arrival; });
  std::vector<NodeFacts> nodes;
  for (auto const* member : members) nodes.push_back(member->facts);
  auto table = order_ranks(nodes, host_.table, settings_.given_ranks);
  if (!table) return end({false, exit_code_of(table.error().code), to_string(table.error())});

  host_.highest = host_.highest.next();
  Proposal proposal;
  proposal.table = *std::move(table);
  auto& record = proposal.record;
  record.generation = host_.generation;
  record.epoch = host_.epoch;
  record.round = host_.highest;
  record.host = host_.self;
  record.voters = choose_voters(proposal.table);
  record.nodes = static_cast<std::uint32_t>(proposal.table.size());
  record.world_size = world_size_of(proposal.table);
  record.table_digest = digest_of(proposal.table);
  record.used = host_.used;
  if (host_.committed && host_.committed->used.worker_failures == host_.used.worker_failures)
    record.repeat = host_.committed->repeat + 1;
  record.reason = reason;
  host_.proposal = std::move(proposal);
  host_.phase = Phase::forming;
}

// A fresh store is opened while old workers still stop; one at a fixed port is renewed only after.
bool HostTurn::try_open_store() {
  auto& proposal = *host_.proposal;
  if (proposal.store_asked) return false;
  if (settings_.store_at_endpoint && !host_.to_stop.empty()) return false;
  proposal.store_asked = true;
  send(proposal.table.front().node, OpenStore{proposal.record.round});
  return true;
}

void HostTurn::store_opened(Incarnation node, StoreOpened const& opened) {
  if (!host_.proposal || host_.proposal->record.round != opened.round) return;
  auto& proposal = *host_.proposal;
  if (proposal.store_open || proposal.table.front().node != node) return;
  if (!opened.error.empty())
    return end({false, 1,
                "host " + proposal.table.front().host +
                    " cannot open the workers' store: " + opened.error});
  proposal.store_open = true;
  proposal.record.master = {master_address(proposal.table, host_.members), opened.port};
  for (auto const& [id, member] : host_.members) send_prepare(id);
}

// Only voters of the coming record or of the one that holds are asked.
void HostTurn::send_prepare(Incarnation node) {
  auto const votes_in = [node](Record const& record) {
    return std::find(record.voters.begin(), record.voters.end(), node) != record.voters.end();
  };
  auto const& record = host_.proposal->record;
  if (votes_in(record) || (host_.committed && votes_in(*host_.committed)))
    send(node, Prepare{record});
}

bool HostTurn::votes_suffice() const {
  auto answered = host_.proposal->prepared;
  auto const& voters = host_.proposal->record.voters;
  if (std::find(voters.begin(), voters.end(), host_.self) == voters.end())
    answered.insert(host_.self);  // a stand-alone host votes only where votes are even
  return has_quorum(host_.proposal->record, answered, host_.proven_dead) &&
         (!host_.committed || has_quorum(*host_.committed, answered, host_.proven_dead));
}

bool HostTurn::try_commit() {
  auto& proposal = *host_.proposal;
  if (!proposal.store_open || !host_.to_stop.empty() || !votes_suffice()) return false;
  host_.committed = std::move(proposal.record);
  host_.table = std::move(proposal.table);
  host_.proposal.reset();
  host_.failures.clear();
  host_.workers_round = host_.committed->round;
  host_.phase = Phase::running;
  host_.to_finish.clear();
  for (auto const& row : host_.table) {
    host_.to_finish.insert(row.node);
    send_commit(row);
  }
  return true;
}

void HostTurn::send_commit(TableRow const& row) {
  Commit commit{*host_.committed, row, {}};
  if (host_.table.size() <= kNamedHosts)
    for (auto const& other : host_.table) commit.hosts.push_back(other.host);
  send(row.node, std::move(commit));
}

// A failure is charged once, however many ranks report it, and the whole world starts again.
bool HostTurn::react_to_failure() {
  if (host_.failures.empty()) return false;
  if (host_.used.worker_failures >= settings_.max_restarts) {
    blame_workers();
    return true;
  }
  ++host_.used.worker_failures;
  stop_workers(cause_text(), std::nullopt);
  begin_round(Reason::worker_failure);
  return true;
}

void HostTurn::stop_workers(std::string const& text, std::optional<Duration> grace) {
  host_.stop_why = text;
  host_.stop_grace = grace;
  host_.to_finish.clear();
  if (host_.workers_round == RoundNumber{}) return;
  std::optional<std::int64_t> grace_ns;
  if (grace) grace_ns = grace->count();
  for (auto const& row : host_.table) {
    if (!host_.members.contains(row.node)) continue;
    host_.to_stop.insert(row.node);
    send(row.node, Stop{host_.workers_round, grace_ns, text});
  }
}

std::string HostTurn::host_of(Incarnation node) const {
  for (auto const& row : host_.table)
    if (row.node == node) return row.host;
  return "?";
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

std::string master_address(Table const& table, std::map<Incarnation, Member> const& members) {
  auto const& first = table.front();
  if (!first.address.empty() && !is_loopback(first.address)) return first.address;
  // Rank 0 is on the host's own machine: what do its peers dial to reach that?
  std::string local;
  for (auto const& row : table) {
    auto const found = members.find(row.node);
    if (row.node == first.node || found == members.end() || found->second.reached_at.empty())
      continue;
    if (!is_loopback(found->second.reached_at)) return found->second.reached_at;
    if (local.empty()) local = found->second.reached_at;
  }
  if (!local.empty()) return local;
  return first.address.empty() ? "127.0.0.1" : first.address;
}

std::size_t root_cause(std::vector<FailureNote> const& failures) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < failures.size(); ++i) {
    auto const& a = failures[i];
    auto const& b = failures[best];
    if (a.failure.is_consequence != b.failure.is_consequence) {
      if (!a.failure.is_consequence) best = i;
    } else if (a.at < b.at) {
      best = i;
    }
  }
  return best;
}

}  // namespace muster::membership
