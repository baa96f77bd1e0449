// SPDX-License-Identifier: Apache-2.0
// What goes wrong: faults carried out.

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/world.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace membership;
using namespace std::chrono_literals;

constexpr Duration kRunsOn = 1s;  // until an agent that stood still has dealt with its workers
constexpr std::int32_t kTerminated = 128 + 15;

std::set<NodeIndex> as_set(NodeGroup const& group) {
  return {group.begin(), group.end()};
}

}  // namespace

void World::apply(Fault const& what) {
  if (tells(Telling::what_matters)) tell("-- " + to_text(what));
  std::visit(Overload{
                 [this](fault::Partition const& f) { divide(f); },
                 [this](fault::OneWay const& f) {
                   for (auto const from : f.from)
                     for (auto const to : f.to) network.cut(from, to, moment());
                 },
                 [this](fault::Heal const&) { network.heal(agenda); },
                 [this](fault::Break const& f) { network.break_between(f.a, f.b, agenda); },
                 [this](fault::Weather const& f) { network.weather = f; },
                 [this](fault::Pause const& f) { pause(f.node, f.length, false); },
                 [this](fault::Freeze const& f) { pause(f.node, f.length, true); },
                 [this](fault::Late const& f) { nodes[f.node].late = f.by; },
                 [this](fault::PowerLoss const& f) { power_off(f.node); },
                 [this](fault::Kill const& f) { kill(f.node, f.guardian_too); },
                 [this](fault::Start const& f) {
                   nodes[f.node].powered = true;
                   start_agent(f.node);
                 },
                 [this](fault::Terminate const& f) { terminate(f.node); },
                 [this](fault::FailWorker const& f) {
                   if (auto* process = listener(f.node)) fail_workers(*process, f.exit_code, false);
                 },
                 [this](fault::FinishWorkers const&) { finish_workers(); },
                 [this](fault::Stick const& f) {
                   if (auto* process = listener(f.node)) process->workers.will_stick = true;
                 },
             },
             what);
}

// Faults at their times, then those at moments, then what undoes these.
void World::strike_planned(std::uint32_t index) {
  auto const at_times = static_cast<std::uint32_t>(plan_->faults.size());
  auto const at_moments = static_cast<std::uint32_t>(plan_->at_moments.size());
  if (index < at_times) return apply(plan_->faults[index].what);
  if (index >= at_times + at_moments)
    return apply(*plan_->at_moments[index - at_times - at_moments].undoing);
  auto const& fault = plan_->at_moments[index - at_times];
  auto const over = elapsed() + std::max(length_of(fault.what), fault.undone_after);
  if (plan_->calm_after > Duration::zero() && over >= plan_->calm_after) return;
  apply(fault.what);
  if (fault.undoing) agenda.plan(fault.undone_after, due::FaultStrikes{index + at_moments});
}

void World::divide(fault::Partition const& partition) {
  std::vector<std::uint32_t> group(nodes.size(), 0);
  for (std::uint32_t i = 0; i < partition.groups.size(); ++i)
    for (auto const node : as_set(partition.groups[i])) group[node] = i + 1;
  for (NodeIndex a = 0; a < nodes.size(); ++a)
    for (NodeIndex b = 0; b < nodes.size(); ++b)
      if (group[a] != group[b]) network.cut(a, b, moment());
}

void World::pause(NodeIndex index, Duration length, bool whole_machine) {
  auto& node = nodes[index];
  auto* process = listener(index);
  if (!node.powered || (!whole_machine && !process)) return;
  if (whole_machine)
    node.frozen = true;
  else
    process->stopped = true;
  agenda.plan(length, due::Resume{index, ++node.pauses});
}

// What came meanwhile is found in the order in which it came.
void World::resume(due::Resume const& due) {
  auto& node = nodes[due.node];
  if (node.pauses != due.nth) return;
  auto const found = processes.find(node.process);
  auto const was_frozen = std::exchange(node.frozen, false);
  if (found == processes.end()) return;
  auto& process = found->second;
  process.stopped = false;
  if (was_frozen && process.workers.round != RoundNumber{})
    process.workers.excused_until = moment() + kRunsOn;
  if (tells(Telling::what_matters)) tell("-- " + name_of(process) + " goes on");
  for (auto& what : std::exchange(process.inbox, {}))
    agenda.plan(Duration::zero(), std::move(what));
}

void World::power_off(NodeIndex index) {
  auto& node = nodes[index];
  node.powered = node.frozen = false;
  ++node.pauses;
  network.power_lost(index, agenda);
  auto const found = processes.find(node.process);
  if (found == processes.end() || found->second.gone) return;
  auto& process = found->second;
  process.alive = process.guardian.alive = false;
  process.stopped = false;
  process.inbox.clear();
  process.workers.round = {};
  process.gone = true;
}

void World::kill(NodeIndex index, bool guardian_too) {
  auto* process = listener(index);
  if (!process || nodes[index].frozen) return;
  ++nodes[index].pauses;
  if (guardian_too) process->guardian.alive = false;
  agent_killed(*process);
}

void World::terminate(NodeIndex index) {
  auto* process = listener(index);
  if (!process || nodes[index].frozen) return;
  if (process->stopped) resume({index, nodes[index].pauses});  // the guardian sees to that
  if (process->is_agent()) {
    Leave const wish{kTerminated, "node " + nodes[index].name + " was told to end"};
    return notify(*process, member::LeaveWanted{wish}, Duration::zero());
  }
  if (process->hosting) feed_host(*process, ResignWanted{});
  process->alive = false;
  process->gone = true;
  network.process_gone(process->id, agenda, {});
}

// The script comes to its end; what starts later runs as long as a short one.
void World::finish_workers() {
  script_.endless = false;
  for (auto& [id, process] : processes) {
    auto& workers = process.workers;
    if (workers.round == RoundNumber{} || workers.failed || workers.stop_order) continue;
    auto const left = agenda.up_to(200ms);
    workers.ends_at = moment() + left;
    if (!workers.held) agenda.plan(left, due::WorkersEnd{id, ++workers.stretch});
  }
}

}  // namespace muster::sim
