// SPDX-License-Identifier: Apache-2.0
// Invariants about the machine room: what runs where, who is told what, and that it goes on.

#include "rendezvous/sim/invariants.hpp"
#include "rendezvous/sim/world.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace membership;
using namespace std::chrono_literals;

constexpr std::uint64_t kPortRests = 8;  // rounds
constexpr double kClocksDiffer = 0.001;  // two clocks, and the moment of a tick

std::string text_of(RoundNumber round) {
  return "round " + std::to_string(round.value);
}

// Ends that an agent decides for itself, whatever the job comes to.
bool is_own_end(Process const& process) {
  if (process.error || process.member->leaving) return true;
  auto const code = process.outcome->exit_code;
  return code == exit_code_of(Errc::lost_quorum) || code == exit_code_of(Errc::canceled);
}

}  // namespace

// A silent node is given up where nothing is won by haste, candidates stand, a round forms.
Duration progress_bound(JobSettings const& job) {
  return job.dead_at_min + job.dead + 15s;
}

// (5) Workers run only under a committed record, held by a quorum, that names their agent.
void Checker::workers_have_a_record(World const& world, Evidence const& evidence) {
  for (auto const& start : evidence.starts) {
    auto const& process = world.processes.at(start.process);
    auto const& record = start.commit.record;
    auto const self = process.member->facts.incarnation;
    auto const where = world.name_of(process) + " starts " + text_of(record.round);
    auto const found = known_.decisions.find(mark_of(record));
    if (found == known_.decisions.end()) {
      violate(5, where + ", which nobody committed");
      continue;
    }
    auto holders = known_.holders[mark_of(record)];
    holders.insert(record.host);
    if (!agreed(electorate_of(record), holders, known_.dead))
      violate(5, where + ", which no quorum holds");
    auto const* table = table_of(record.generation, record.round);
    auto const named = table && std::any_of(table->begin(), table->end(),
                                            [self](auto const& row) { return row.node == self; });
    if (start.commit.row.node != self || !named) violate(5, where + ", which does not name it");
  }
}

// Workers that run on though others may have started: those that are stopped, of a machine that
// stands still or did, or that SIGKILL cannot end.
bool Checker::is_excused(World const& world, Process const& process) {
  auto const& workers = process.workers;
  auto const dying = workers.killed && workers.will_stick;  // state D
  return workers.held || dying || world.nodes[process.node].frozen ||
         world.moment() < workers.excused_until;
}

// (6) No two rounds' workers at once, but for those that are excused; they are counted.
void Checker::one_round_at_a_time(World const& world, Evidence const& evidence) {
  std::map<Generation, Process const*> running;  // one of each
  for (auto const& [id, process] : world.processes) {
    auto const& workers = process.workers;
    if (workers.round == RoundNumber{} || is_excused(world, process)) continue;
    auto const [known, is_new] = running.emplace(workers.generation, &process);
    if (!is_new && known->second->workers.round != workers.round)
      violate(6, world.name_of(process) + " runs " + text_of(workers.round) + " while " +
                     world.name_of(*known->second) + " runs " +
                     text_of(known->second->workers.round));
  }
  for (auto const& start : evidence.starts) {
    auto const round = start.commit.record.round;
    auto const where =
        world.name_of(world.processes.at(start.process)) + " starts " + text_of(round);
    if (start.others) violate(6, where + " while its own old workers live");
    for (auto const& [id, process] : world.processes) {
      auto const& workers = process.workers;
      if (workers.round == RoundNumber{}) continue;
      if (workers.round == round && workers.generation == start.commit.record.generation) continue;
      if (is_excused(world, process))
        ++excused;
      else if (workers.generation != start.commit.record.generation)
        ++twins;
    }
  }
}

// (8) A store connection sees one round's keys: a port is not used again for some rounds, one that
// must not change is renewed when all old workers are dead, and workers find their own round's.
void Checker::stores_are_fresh(World const& world, Evidence const& evidence) {
  auto const fixed = world.plan().job.store_at_endpoint;
  for (auto const& [id, opened] : evidence.stores) {
    auto const& process = world.processes.at(id);
    auto& known = known_.stores[{process.node, opened.port}];
    auto const before = std::exchange(known, Store{opened.round, {}});
    if (!fixed && before.used && opened.round.value < before.round.value + kPortRests)
      violate(8, "port " + std::to_string(opened.port) + " of " + world.name_of(process) +
                     " serves " + text_of(before.round) + " and " + text_of(opened.round));
    if (!fixed) continue;
    for (auto const& [other, running] : world.processes)
      if (running.workers.round != RoundNumber{} && running.workers.round != opened.round &&
          !world.nodes[running.node].frozen)
        violate(8, "the store was renewed for " + text_of(opened.round) + " while " +
                       world.name_of(running) + " runs " + text_of(running.workers.round));
  }
  for (auto const& start : evidence.starts) {
    auto const& record = start.commit.record;
    NodeIndex node = 0;
    while (node < world.nodes.size() && world.nodes[node].address != record.master.address) ++node;
    auto const store = known_.stores.find({node, record.master.port});
    Mark const mark{record.generation, {}, record.round};
    auto const found = store != known_.stores.end() && store->second.round == record.round &&
                       store->second.used.value_or(mark) == mark;
    if (found)
      store->second.used = mark;
    else
      violate(8, "workers of " + text_of(record.round) + " find no store of theirs at " +
                     record.master.address + ":" + std::to_string(record.master.port));
  }
}

// (9) Nobody is evicted whose lease arrived within `dead`.
void Checker::nobody_is_evicted_early(World const& world, Evidence const& evidence) {
  for (auto const& out : evidence.counted_out) {
    if (known_.dead.contains(out.node)) continue;  // by its last word
    auto const silence = std::chrono::duration<double>(world.moment() - out.heard);
    auto const dead = std::chrono::duration<double>(std::max(out.dead, world.plan().job.dead));
    if (silence >= dead * (1 - kClocksDiffer)) continue;
    violate(9, world.name_of(out.node) + " was counted out by " +
                   world.name_of(world.processes.at(out.by)) + " after " +
                   std::to_string(silence.count()) + " s of silence, not " +
                   std::to_string(dead.count()));
  }
}

// (10) One outcome, never reversed; success only if every rank of the last round exited 0; and
// nobody ends with another code than the job's but who could not know it.
void Checker::one_outcome(World const& world, Evidence const& evidence) {
  for (auto const& commit : evidence.commits) {
    auto const& outcome = commit.record.outcome;
    auto const known = known_.outcomes.find(commit.record.generation);
    if (!outcome) {
      // One of an older reign that is decided late is invariant 3's.
      auto const late = !known_.decisions.empty() &&
                        mark_of(commit.record) < std::prev(known_.decisions.end())->first;
      if (known != known_.outcomes.end() && !late)
        violate(10, text_of(commit.record.round) + " was committed after the outcome");
      continue;
    }
    if (known != known_.outcomes.end() && !(known->second == *outcome))
      violate(10, "two outcomes were committed");
    known_.outcomes.emplace(commit.record.generation, *outcome);
    if (!outcome->success) continue;
    auto const* last = workers_before(mark_of(commit.record));
    auto const* table = last ? table_of(last->record.generation, last->record.round) : nullptr;
    if (!table) {
      violate(10, "success of a job that never ran");
      continue;
    }
    for (auto const& row : *table)
      if (auto const* process = world.find(row.node);
          !process || process->workers.finished != last->record.round)
        violate(10, "success, but the workers of " + world.name_of(row.node) + " had not exited 0");
  }
  for (auto const id : evidence.ends) {
    auto const& process = world.processes.at(id);
    auto const success = process.outcome && process.outcome->success;
    auto const found = known_.outcomes.find(process.member->generation);
    auto const known = found != known_.outcomes.end();
    if (success && !(known && found->second.success))
      violate(10, world.name_of(process) + " ends in success, which nobody committed");
    if (known && !success && !is_own_end(process) &&
        process.outcome->exit_code != found->second.exit_code)
      violate(10, world.name_of(process) + " ends with exit code " +
                      std::to_string(process.outcome->exit_code) + ", the job with " +
                      std::to_string(found->second.exit_code));
  }
}

// The electorate of the newest record that an agent which runs has prepared.
Electorate Checker::newest_held(World const& world) const {
  auto const* newest = &known_.decisions.rbegin()->second.record;
  for (auto const& [id, process] : world.processes) {
    if (!process.alive || !process.is_agent() || process.ended()) continue;
    auto const& prepared = process.member->voter.prepared;
    if (prepared && mark_of(prepared->record) > mark_of(*newest)) newest = &prepared->record;
  }
  return electorate_of(*newest);
}

// (12) Once faults stop, with a quorum and MIN nodes reachable, a commit or an outcome follows
// within a stated time.
void Checker::it_goes_on(World const& world) {
  if (asked_for_progress_ || world.elapsed() < world.calm_at() + progress_bound(world.plan().job))
    return;
  asked_for_progress_ = true;
  std::set<Incarnation> alive, proven;  // a last word may be lost on its way
  for (auto const& [id, process] : world.processes) {
    if (!process.alive || !process.is_agent() || process.ended() || process.member->leaving)
      continue;
    alive.insert(process.member->facts.incarnation);
    auto const& gone = process.member->voter.gone;
    proven.insert(gone.begin(), gone.end());
  }
  auto const& job = world.plan().job;
  if (alive.size() < job.min_nodes || !known_.outcomes.empty() || !job.succession) return;
  if (last_progress_ - kBegin >= world.calm_at()) return;
  if (known_.decisions.empty()) {
    auto const* host = world.last_on(world.plan().daemon ? world.plan().nodes : 0);
    if (host && host->alive && !host->ended() && host->life == 1)
      violate(12, "enough nodes are there, and no round begins");
    return;
  }
  auto const& last = known_.decisions.rbegin()->second;
  if (!agreed(electorate_of(last.record), alive, proven)) return;
  // A successor has to take over the newest record that a voter holds, a prepared one included,
  // with a quorum of that record's voters (design 4.2): else nobody may go on, and check_end is to
  // see everybody end.
  if (!agreed(newest_held(world), alive, proven)) return;
  auto const well = std::all_of(last.table.begin(), last.table.end(), [&](TableRow const& row) {
    auto const* process = world.find(row.node);
    return process && (process->workers.round == last.record.round ||
                       process->workers.finished == last.record.round);
  });
  if (!well)
    violate(12, "a quorum of " + text_of(last.record.round) + " and " +
                    std::to_string(alive.size()) + " nodes are there, and nothing follows");
}

// (12) ... and every agent comes to its end.
void Checker::check_end(World const& world) {
  if (world.runs_for_ever() || world.everybody_ended()) return;
  auto const more = !world.agenda.empty() && world.agenda.next_at() - kBegin <= world.last_moment();
  if (more) return;
  for (auto const& [id, process] : world.processes)
    if (process.is_agent() && !process.gone) violate(12, world.name_of(process) + " never ends");
}

}  // namespace muster::sim
