// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/group_step.hpp"

#include <algorithm>

namespace muster::launch {
namespace {

using Effects = std::vector<group::Effect>;

bool is_over(WorkerPhase phase) {
  return phase == WorkerPhase::ended || phase == WorkerPhase::lost;
}

void kill(WorkerState& worker, std::size_t index, TimePoint now, Effects& effects) {
  worker.phase = WorkerPhase::killed;
  worker.deadline = now + kKillPatience;
  effects.push_back(group::Kill{index});
}

// The zombie's group gets the signal too: its leader may have left somebody behind, who has until
// the others are gone.
void on(GroupState& state, group::Stop const& stop, TimePoint now, Effects& effects) {
  for (std::size_t i = 0; i < state.workers.size(); ++i) {
    auto& worker = state.workers[i];
    if (worker.phase == WorkerPhase::killed || worker.phase == WorkerPhase::lost) continue;
    effects.push_back(group::SendSignal{i, stop.signal});
    if (worker.phase == WorkerPhase::ended) continue;
    worker.phase = WorkerPhase::stopping;
    worker.deadline = std::min(worker.deadline, now + stop.grace);
  }
}

void on(GroupState& state, group::KillNow const&, TimePoint now, Effects& effects) {
  for (std::size_t i = 0; i < state.workers.size(); ++i) {
    auto& worker = state.workers[i];
    if (worker.phase == WorkerPhase::running || worker.phase == WorkerPhase::stopping)
      kill(worker, i, now, effects);
  }
}

// While the group is being stopped, what an ended leader left behind goes with it.
void on(GroupState& state, group::Ended const& ended, TimePoint, Effects& effects) {
  auto& worker = state.workers.at(ended.worker);
  if (is_over(worker.phase)) return;
  if (worker.phase == WorkerPhase::stopping) effects.push_back(group::Kill{ended.worker});
  worker.phase = WorkerPhase::ended;
  worker.deadline = TimePoint::max();
}

void on(GroupState& state, group::Tick const&, TimePoint now, Effects& effects) {
  for (std::size_t i = 0; i < state.workers.size(); ++i) {
    auto& worker = state.workers[i];
    if (now < worker.deadline) continue;
    if (worker.phase == WorkerPhase::stopping) {
      kill(worker, i, now, effects);
    } else if (worker.phase == WorkerPhase::killed) {
      worker.phase = WorkerPhase::lost;
      worker.deadline = TimePoint::max();
    }
  }
}

}  // namespace

std::vector<group::Effect> group_step(GroupState& state, group::Event const& event, TimePoint now) {
  Effects effects;
  if (state.released) return effects;
  std::visit([&](auto const& one) { on(state, one, now, effects); }, event);
  auto const next = std::min_element(
      state.workers.begin(), state.workers.end(),
      [](WorkerState const& a, WorkerState const& b) { return a.deadline < b.deadline; });
  bool const all_over = std::all_of(state.workers.begin(), state.workers.end(),
                                    [](WorkerState const& w) { return is_over(w.phase); });
  if (all_over) {
    state.released = true;
    effects.push_back(group::Release{});
  } else if (next->deadline != TimePoint::max()) {
    effects.push_back(group::WakeAt{next->deadline});
  }
  return effects;
}

}  // namespace muster::launch
