// SPDX-License-Identifier: Apache-2.0
// The user's script on one node, and how it ends: well, badly, told to, or killed.

#include "rendezvous/sim/world.hpp"

namespace muster::sim {
namespace {

using namespace membership;
using namespace std::chrono_literals;

constexpr Duration kTryAgain = 1s;    // a rank without its peers finds out, or waits on
constexpr Duration kStuckKnown = 2s;  // until a stop gives up on a worker in state D
constexpr std::int32_t kPeerLost = 89;

}  // namespace

void World::start_workers(Process& process, Commit const& commit) {
  auto& workers = process.workers;
  evidence_.starts.push_back({process.id, workers.round != RoundNumber{}, commit});
  if (tells(Telling::what_matters))
    tell(name_of(process) + " starts the workers of round " +
         std::to_string(commit.record.round.value));
  workers.generation = commit.record.generation;
  workers.round = commit.record.round;
  workers.held = workers.failed = workers.killed = false;
  workers.stop_order.reset();
  ++workers.start;
  ++workers.stretch;
  reassure_guardian(process);
  auto const& script = script_;
  if (script.endless) return;
  auto const work = agenda.between(script.least_work, script.most_work);
  workers.ends_at = moment() + work;
  agenda.plan(work, due::WorkersEnd{process.id, workers.stretch});
}

void World::workers_end(Process& process, due::WorkersEnd const& due) {
  auto& workers = process.workers;
  if (workers.round == RoundNumber{} || workers.stretch != due.stretch || workers.held) return;
  if (workers.failed || workers.stop_order || workers.killed) return;
  if (agenda.chance(script_.failure)) return fail_workers(process, 7, agenda.chance(0.2));
  if (script_.needs_peers && !peers_are_well(process)) {
    if (agenda.chance(0.3)) return fail_workers(process, kPeerLost, true);
    workers.ends_at = moment() + kTryAgain;
    agenda.plan(kTryAgain, due::WorkersEnd{process.id, workers.stretch});
    return;
  }
  if (tells(Telling::what_matters)) tell(name_of(process) + " is done");
  auto const round = workers.round;
  workers.finished = round;
  workers.round = {};
  notify(process, member::WorkersDone{round}, Duration::zero());
}

bool World::peers_are_well(Process const& process) const {
  auto const* table = checker.table_of(process.workers.generation, process.workers.round);
  if (!table) return true;
  for (auto const& row : *table) {
    auto const* peer = find(row.node);
    if (!peer) return false;
    auto const& workers = peer->workers;
    auto const runs = workers.round == process.workers.round && !workers.failed && !workers.held &&
                      !nodes[peer->node].frozen;
    if (!runs && workers.finished != process.workers.round) return false;
  }
  return true;
}

void World::fail_workers(Process& process, std::int32_t exit_code, bool is_consequence) {
  auto& workers = process.workers;
  if (workers.round == RoundNumber{} || workers.failed || workers.stop_order || workers.killed)
    return;
  if (tells(Telling::what_matters))
    tell(name_of(process) + ": a worker fails with exit code " + std::to_string(exit_code));
  Failure const failure{workers.round, exit_code, is_consequence, 0, "report"};
  evidence_.failures.emplace_back(workers.generation, workers.round);
  if (agenda.chance(0.5))
    workers.failed = true;  // the others of its node are still alive
  else
    workers.round = {};
  notify(process, member::WorkersFailed{failure, node_time(process)}, Duration::zero());
}

void World::stop_workers(Process& process, member::StopWorkers const& order) {
  auto& workers = process.workers;
  if (tells(Telling::what_matters)) tell(name_of(process) + " stops its workers: " + order.why);
  if (workers.round == RoundNumber{} || workers.round > order.round)
    return notify(process, member::WorkersStopped{order.round, 0}, agenda.up_to(plan_->jitter));
  workers.stop_order = order.round;
  workers.killed = workers.killed || order.grace == Duration::zero() || workers.will_stick;
  auto const patience = order.grace == Duration::zero() ? plan_->kill_time : plan_->grace;
  auto const time = workers.will_stick ? kStuckKnown : agenda.up_to(patience);
  agenda.plan(time, due::WorkersDead{process.id, workers.start});
}

// SIGKILL to all of them, by the agent that ends or by the guardian.
void World::kill_workers(Process& process) {
  auto& workers = process.workers;
  if (workers.round == RoundNumber{}) return;
  workers.killed = true;
  auto const time = workers.will_stick ? kStuckKnown : agenda.up_to(plan_->kill_time);
  agenda.plan(time, due::WorkersDead{process.id, workers.start});
}

void World::workers_dead(due::WorkersDead const& due) {
  auto& process = at(due.process);
  auto& workers = process.workers;
  if (workers.round == RoundNumber{} || workers.start != due.start) return;
  auto const round = workers.round;
  auto const unclean = workers.will_stick ? 1u : 0u;
  workers.unclean += unclean;
  workers.will_stick = false;
  workers.round = {};
  if (tells(Telling::what_matters))
    tell(name_of(process) + ": the workers of round " + std::to_string(round.value) +
         (unclean ? " are dead but for one in state D" : " are dead"));
  if (!process.alive) return process_gone(process);
  if (process.ending) return exit_if_done(process);
  if (!workers.stop_order) return;  // the guardian killed them; the agent will see
  notify(process, member::WorkersStopped{*std::exchange(workers.stop_order, std::nullopt), unclean},
         Duration::zero());
}

void World::hold_workers(Process& process) {
  auto& workers = process.workers;
  if (workers.round == RoundNumber{} || workers.held) return;
  if (tells(Telling::what_matters)) tell(name_of(process) + " holds its workers");
  workers.held = true;
  ++workers.stretch;
  workers.left = std::max(workers.ends_at - moment(), Duration{1});
}

void World::let_workers_go_on(Process& process) {
  auto& workers = process.workers;
  if (!std::exchange(workers.held, false) || workers.round == RoundNumber{}) return;
  if (tells(Telling::what_matters)) tell(name_of(process) + " lets its workers go on");
  if (script_.endless) return;
  workers.ends_at = moment() + workers.left;
  agenda.plan(workers.left, due::WorkersEnd{process.id, workers.stretch});
}

void World::notify(Process& process, member::Event event, Duration after) {
  agenda.plan(after,
              due::Notice{process.id, std::make_shared<member::Event const>(std::move(event))});
}

}  // namespace muster::sim
