// SPDX-License-Identifier: Apache-2.0
// Invariants about records: who decides, on what, with whose agreement.

#include "rendezvous/sim/invariants.hpp"

#include "rendezvous/sim/world.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace membership;

std::string text_of(RoundNumber round) {
  return "round " + std::to_string(round.value);
}

std::string text_of(Mark const& mark) {
  return text_of(mark.round) + " of epoch " + std::to_string(mark.epoch.value);
}

// What a successor may not change when it commits a record again.
bool same_decision(Record a, Record const& b) {
  a.epoch = b.epoch;
  a.host = b.host;
  return a == b;
}

}  // namespace

std::string to_text(Violation const& violation) {
  return "invariant " + std::to_string(violation.invariant) + ": " + violation.what;
}

void Checker::check(World const& world, Evidence const& evidence) {
  learn(world, evidence);
  one_host_commits(evidence);
  one_record_a_round(evidence);
  quorums_overlap(world, evidence);
  nothing_falls(world, evidence);
  workers_have_a_record(world, evidence);
  one_round_at_a_time(world, evidence);
  ranks_are_in_order(world, evidence);
  stores_are_fresh(world, evidence);
  nobody_is_evicted_early(world, evidence);
  one_outcome(world, evidence);
  budgets_add_up(world, evidence);
  it_goes_on(world);
}

void Checker::violate(int invariant, std::string what) {
  violations.push_back({invariant, std::move(what)});
}

// Facts first: who holds what, who is dead, which workers failed.
void Checker::learn(World const& world, Evidence const& evidence) {
  for (auto const& step : evidence.members) {
    if (step.after.prepared != step.before.prepared)
      known_.holders[step.after.prepared].insert(step.after.who);
    if (step.after.committed != step.before.committed)
      known_.holders[step.after.committed].insert(step.after.who);
  }
  known_.dead.insert(evidence.words.begin(), evidence.words.end());
  known_.failed.insert(evidence.failures.begin(), evidence.failures.end());
  if (!evidence.commits.empty()) last_progress_ = world.moment();
}

// (1) One committing host per generation and epoch.
void Checker::one_host_commits(Evidence const& evidence) {
  for (auto const& commit : evidence.commits) {
    auto const reign = std::pair{commit.record.generation, commit.record.epoch};
    auto const [known, is_new] = known_.reigns.emplace(reign, commit.host);
    if (!is_new && known->second != commit.host)
      violate(1, "two hosts commit in epoch " + std::to_string(commit.record.epoch.value));
  }
}

// (2) One record per round, one master, one table; a later reign may only repeat it.
void Checker::one_record_a_round(Evidence const& evidence) {
  for (auto const& commit : evidence.commits) {
    auto const mark = mark_of(commit.record);
    auto const [first, is_new] =
        known_.rounds.emplace(std::pair{mark.generation, mark.round}, mark);
    if (!is_new) {
      auto const& [known, table] = known_.decisions.at(first->second);
      if (!same_decision(known, commit.record))
        violate(2, "two records for " + text_of(mark.round) + ", by epochs " +
                       std::to_string(first->second.epoch.value) + " and " +
                       std::to_string(mark.epoch.value));
      // A successor may be first with a record whose rows only the host before knew, and commits.
      if (table.size() < commit.table.size()) first->second = mark;
    }
  }
}

// More than half of the voters that are not dead by proof, or half with the host.
bool Checker::agreed(Electorate const& base, std::set<Incarnation> const& holders,
                     std::set<Incarnation> const& dead) {
  std::size_t voters = 0, agreeing = 0;
  for (auto const& seat : base.voters) {
    if (dead.contains(seat.node)) continue;
    ++voters;
    if (holders.contains(seat.node)) ++agreeing;
  }
  return 2 * agreeing > voters || (2 * agreeing == voters && holders.contains(base.host));
}

Checker::Decision const* Checker::before(Mark mark) const {
  auto const next = known_.decisions.lower_bound(mark);
  if (next == known_.decisions.begin()) return nullptr;
  auto const previous = std::prev(next);
  return previous->first.generation == mark.generation ? &previous->second : nullptr;
}

// An agent that comes again as a newcomer has forgotten what it promised: a voter may not, until
// a record without it is committed. One of a world beside which another one was born is counted.
void Checker::is_free_to_forget(World const& world, MemberMarks const& before) {
  if (!known_.rounds.contains({before.generation, before.committed.round})) return;
  auto const& last = known_.decisions.rbegin()->second.record;
  auto const born_beside = [&](auto const& entry) {
    auto const& hosting = entry.second.hosting;
    return hosting && hosting->host.generation > before.generation;
  };
  if (last.generation > before.generation ||
      std::any_of(world.processes.begin(), world.processes.end(), born_beside)) {
    ++twins;
    return;
  }
  if (last.outcome) return;
  for (auto const& seat : last.voters)
    if (seat.node == before.who)
      violate(3,
              world.name_of(before.who) + " was sent away, and no record without it is committed");
}

// (3) Consecutive records share a quorum, proven deaths counted: of its own voters and of those of
// the record before. One that is decided late, when a later reign has gone on, must be one that
// this reign found and decided again.
void Checker::quorums_overlap(World const& world, Evidence const& evidence) {
  for (auto const& step : evidence.members)
    if (step.before.who != step.after.who) is_free_to_forget(world, step.before);
  for (auto const& proven : evidence.proven)
    if (!known_.dead.contains(proven.node))
      violate(3, world.name_of(proven.node) + " counts as dead by proof, and nobody proved it");
  for (auto const& commit : evidence.commits) {
    auto const& record = commit.record;
    auto const mark = mark_of(record);
    auto holders = known_.holders[mark];
    auto const votes = std::any_of(record.voters.begin(), record.voters.end(),
                                   [&](Seat const& seat) { return seat.node == commit.host; });
    if (!votes) holders.insert(commit.host);  // a daemon breaks ties
    // Who has died since it prepared the record counts for a host that has not heard of that.
    auto const decided_by = [&](Record const& base) {
      return agreed(electorate_of(base), holders, known_.dead) ||
             agreed(electorate_of(base), holders, commit.proven_dead);
    };
    if (!decided_by(record))
      violate(3, text_of(mark) + " was committed without a quorum of its own voters");
    if (auto const* last = before(mark); last && !decided_by(last->record))
      violate(3, text_of(mark) + " was committed without a quorum of the voters of " +
                     text_of(mark_of(last->record)));
    auto found_again = true;
    for (auto later = known_.decisions.upper_bound(mark); later != known_.decisions.end();
         ++later) {
      if (later->first.generation != mark.generation) break;
      found_again = later->first.round == mark.round;
      if (found_again) break;
    }
    if (!found_again) violate(3, text_of(mark) + " was committed beside a later reign");
    known_.decisions.emplace(mark, Decision{record, commit.table});
    moments_.emplace(mark, world.moment());
  }
}

// (4) An agent's epoch and round never fall, once it holds a record, and it has one vote an epoch.
void Checker::nothing_falls(World const& world, Evidence const& evidence) {
  for (auto const& [process, before, after] : evidence.members) {
    if (before.who != after.who || before.generation != after.generation) continue;
    if (before.prepared == Mark{}) continue;  // bound by nothing: it may have found a better host
    if (after.epoch < before.epoch || after.promised < before.promised)
      violate(4, world.name_of(after.who) + ": its epoch fell");
    if (after.committed < before.committed || after.prepared < before.prepared)
      violate(4, world.name_of(after.who) + ": its record fell");
  }
  for (auto const& vote : evidence.votes) {
    auto const [known, is_new] = known_.votes.emplace(
        std::pair{Mark{vote.generation, vote.epoch, {}}, vote.voter}, vote.candidate);
    if (!is_new && known->second != vote.candidate)
      violate(4, world.name_of(vote.voter) + " voted for two candidates in epoch " +
                     std::to_string(vote.epoch.value));
  }
}

Checker::Decision const* Checker::workers_before(Mark mark) const {
  for (auto at = known_.decisions.lower_bound(mark); at != known_.decisions.begin();) {
    --at;
    if (at->first.generation != mark.generation) return nullptr;
    if (!at->second.record.outcome && at->first.round != mark.round) return &at->second;
  }
  return nullptr;
}

Table const* Checker::table_of(Generation generation, RoundNumber round) const {
  auto const first = known_.rounds.find({generation, round});
  return first == known_.rounds.end() ? nullptr : &known_.decisions.at(first->second).table;
}

std::optional<RecordOutcome> Checker::outcome() const {
  if (known_.outcomes.empty()) return std::nullopt;
  return known_.outcomes.begin()->second;
}

// (7) Ranks are dense and unique, MIN <= n <= MAX, survivors and given ranks keep theirs.
void Checker::ranks_are_in_order(World const& world, Evidence const& evidence) {
  auto const& job = world.plan().job;
  for (auto const& commit : evidence.commits) {
    auto const& table = commit.table;
    // A successor learns the rows from those who return.
    if (commit.record.outcome || table.size() != commit.record.nodes) continue;
    auto const where = text_of(mark_of(commit.record));
    std::uint32_t next = 0;
    std::map<Incarnation, std::uint32_t> ranks;
    for (std::size_t i = 0; i < table.size(); ++i) {
      auto const& row = table[i];
      if (row.group_rank != i || row.rank_base != next) violate(7, where + ": ranks are not dense");
      if (!ranks.emplace(row.node, row.group_rank).second)
        violate(7, where + ": " + world.name_of(row.node) + " has two ranks");
      auto const* process = world.find(row.node);
      if (job.given_ranks && process && process->node != i)
        violate(7, where + ": a given rank was not obeyed");
      next += row.local_world_size;
    }
    if (next != commit.record.world_size) violate(7, where + ": the world's size is wrong");
    if (table.size() < job.min_nodes || table.size() > job.max_nodes)
      violate(7, where + " has " + std::to_string(table.size()) + " nodes");
    auto const* last = workers_before(mark_of(commit.record));
    if (!last || last->table.size() != last->record.nodes) continue;
    for (auto const& old : last->table)
      if (auto const now = ranks.find(old.node);
          now != ranks.end() && old.group_rank < table.size() && now->second != old.group_rank)
        violate(7, where + ": " + world.name_of(old.node) + " survived and lost rank " +
                       std::to_string(old.group_rank));
  }
}

// (11) Budgets survive succession; a failure is charged once, a change of membership never.
void Checker::budgets_add_up(World const& world, Evidence const& evidence) {
  for (auto const& commit : evidence.commits) {
    auto const& record = commit.record;
    auto const where = text_of(mark_of(record));
    auto const failures = record.used.worker_failures;
    if (failures > world.plan().job.max_restarts)
      violate(11, where + ": more restarts than --max-restarts");
    auto const* last = before(mark_of(record));
    auto const known = last ? last->record.used : Budgets{};
    if (failures < known.worker_failures ||
        record.used.membership_changes < known.membership_changes)
      violate(11, where + ": a budget was forgotten");
    if (!last || failures <= known.worker_failures) {
      if (last && record.reason == Reason::worker_failure && last->record.round != record.round)
        violate(11, where + ": a failure was not charged");
      continue;
    }
    if (failures > known.worker_failures + 1)
      violate(11, where + ": one failure was charged more than once");
    if (!known_.failed.contains({record.generation, last->record.round}))
      violate(11, where + ": a failure was charged, and no worker had failed");
  }
}

}  // namespace muster::sim
