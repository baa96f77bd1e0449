// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent_step.hpp"

#include "launcher/diagnose/exit_words.hpp"
#include "rendezvous/base/env_contract.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::launch {
namespace {

struct Turn {
  AgentState& state;
  TimePoint now;
  AgentSettings const& settings;
  std::vector<agent::Effect> effects;

  template <class E>
  void emit(E effect) {
    effects.emplace_back(std::move(effect));
  }
};

bool has_workers(AgentState const& state) {
  return state.phase == AgentPhase::running || state.phase == AgentPhase::stopping;
}

void stop_workers(Turn& turn, int signal, Duration grace) {
  auto const kills_from = turn.now + std::max(grace, Duration::zero());
  auto const again = turn.state.signal_sent != 0;
  turn.state.kills_from = again ? std::min(kills_from, turn.state.kills_from) : kills_from;
  turn.state.phase = AgentPhase::stopping;
  turn.state.signal_sent = signal;
  if (grace <= Duration::zero()) {
    turn.state.signal_sent = SIGKILL;
    turn.emit(agent::KillWorkers{});
  } else {
    turn.emit(agent::StopWorkers{signal, grace});
  }
}

void exit_now(Turn& turn) {
  turn.state.phase = AgentPhase::over;
  turn.emit(agent::Exit{turn.state.departure->exit_code});
}

// The workers are gone: exit, or wait for the outcome first.
void depart(Turn& turn) {
  auto& state = turn.state;
  if (!state.departure->awaits_outcome) return exit_now(turn);
  state.phase = AgentPhase::leaving;
  auto const& settings = turn.settings;
  state.exit_at = turn.now + (state.view ? settings.outcome_patience : settings.early_patience);
}

void report_failure(Turn& turn) {
  auto& state = turn.state;
  state.failure_open = false;
  state.report_at = TimePoint::max();
  WorkerEnd const* cause = nullptr;
  bool is_consequence = true;
  for (auto const& end : state.ends) {
    if (end.status.success() || end.by_launcher) continue;
    bool const of_itself = end.status.shell_code() != env::kExitPeerLost;
    if (cause == nullptr || (of_itself && is_consequence)) cause = &end;
    if (of_itself) is_consequence = false;
  }
  if (cause == nullptr) return;
  turn.emit(agent::ReportFailure{cause->status.shell_code(), is_consequence, cause->at});
}

void on(Turn& turn, agent::RoundCommitted const& event) {
  auto& state = turn.state;
  if (state.departure) return;  // it crossed our leave()
  if (has_workers(state)) {
    turn.emit(agent::Say{"internal: a round was committed while workers of an older one run"});
    return;
  }
  state.view = event.view;
  state.ends.clear();
  state.failure_open = false;
  state.report_at = TimePoint::max();
  state.signal_sent = 0;
  state.fenced = false;
  state.phase = AgentPhase::running;
  turn.emit(agent::StartWorkers{});
}

void on(Turn& turn, agent::StopOrdered const& event) {
  auto& state = turn.state;
  bool const is_ours = state.view && state.view->round <= event.round;
  if (!is_ours || !has_workers(state)) {
    if (state.phase == AgentPhase::finished) state.phase = AgentPhase::joining;
    turn.emit(agent::ReportStopped{event.round});
    return;
  }
  state.stop_owed = event.round;
  auto const grace = event.grace.value_or(turn.settings.grace);
  if (state.phase == AgentPhase::running || grace <= Duration::zero())
    stop_workers(turn, SIGTERM, grace);
}

void on(Turn& turn, agent::OutcomeTold const& event) {
  auto& state = turn.state;
  if (!state.departure) state.departure = Departure{event.exit_code, event.why, false};
  state.departure->awaits_outcome = false;
  if (state.phase == AgentPhase::running) stop_workers(turn, SIGTERM, turn.settings.grace);
  if (!has_workers(state)) exit_now(turn);
}

void on(Turn& turn, agent::LinkFailed const& event) {
  auto& state = turn.state;
  if (!state.departure) {
    state.departure = Departure{event.exit_code, event.what, false};
    turn.emit(agent::Say{event.what});
  }
  state.departure->awaits_outcome = false;
  if (event.fenced && has_workers(state)) {
    stop_workers(turn, SIGKILL, Duration::zero());
  } else if (state.phase == AgentPhase::running) {
    stop_workers(turn, SIGTERM, turn.settings.grace);
  } else if (!has_workers(state)) {
    exit_now(turn);
  }
}

void on(Turn& turn, agent::WorkerEnded const& event) {
  auto& state = turn.state;
  auto const& status = event.status;
  bool const as_asked = ended_as_asked(state, status, turn.now);
  state.ends.push_back(WorkerEnd{event.local_rank, status, turn.now, as_asked});
  if (state.phase != AgentPhase::running || status.success()) return;
  state.failure_open = true;
  state.report_at = turn.now + turn.settings.report_hold;
  stop_workers(turn, SIGTERM, turn.settings.grace);
}

void on(Turn& turn, agent::GroupReleased const&) {
  auto& state = turn.state;
  if (state.phase == AgentPhase::running) {
    state.phase = AgentPhase::finished;
    turn.emit(agent::ReportDone{});
    return;
  }
  if (state.phase != AgentPhase::stopping) return;
  state.phase = AgentPhase::joining;
  bool const fenced = std::exchange(state.fenced, false);
  if (state.failure_open) report_failure(turn);
  if (auto const owed = std::exchange(state.stop_owed, std::nullopt))
    turn.emit(agent::ReportStopped{*owed});
  else if (fenced && !state.departure)
    turn.emit(agent::ReportFenced{state.view->round});
  if (state.departure) depart(turn);
}

void on(Turn& turn, agent::StartFailed const& event) {
  auto& state = turn.state;
  if (!has_workers(state)) return;  // of a round that was stopped meanwhile
  turn.emit(agent::Say{event.what});
  if (!state.departure) {
    state.departure = Departure{event.exit_code, event.what, true};
    turn.emit(agent::Leave{event.exit_code, event.what});
  }
  stop_workers(turn, SIGKILL, Duration::zero());
}

void on(Turn& turn, agent::OutputStalled const& event) {
  auto& state = turn.state;
  if (state.phase != AgentPhase::running) return;
  auto const why = event.what + ", and --log-stall=stop was given";
  turn.emit(agent::Say{why + ": stopping the workers"});
  if (!state.departure) {
    state.departure = Departure{1, why, true};
    turn.emit(agent::Leave{1, why});
  }
  stop_workers(turn, SIGTERM, turn.settings.grace);
}

void suspend(Turn& turn) {
  if (!turn.settings.single_node) {
    turn.emit(agent::Say{"Ctrl-Z is refused: the other nodes would take a stopped one for dead"});
    return;
  }
  turn.emit(agent::Freeze{});
}

std::string announcement(Turn const& turn, agent::SignalCame const& event, bool polite) {
  auto text = signal_name(event.signal);
  if (event.sender_pid > 0) text += " from process " + std::to_string(event.sender_pid);
  if (!has_workers(turn.state)) return text + ": leaving";
  auto const count = turn.settings.workers;
  auto const workers = std::to_string(count) + (count == 1 ? " worker" : " workers");
  if (!polite) return text + " is not in --signals-to-handle: killing " + workers;
  auto const seconds =
      std::chrono::duration_cast<std::chrono::seconds>(turn.settings.grace).count();
  text += ": stopping " + workers + ", " + std::to_string(seconds) + " s at most";
  if (event.signal == SIGINT) text += "; Ctrl-C again kills them now";
  return text;
}

// HUP and QUIT would be taken for something else by a worker (a reload, a core dump).
int passed_on(int signal) {
  return signal == SIGHUP || signal == SIGQUIT ? SIGTERM : signal;
}

void end_by_signal(Turn& turn, agent::SignalCame const& event) {
  auto& state = turn.state;
  bool const polite = turn.settings.signals_to_handle.count(event.signal) > 0;
  if (event.signal == SIGINT && ++state.interrupts > 1) {
    if (!state.departure) state.departure = Departure{128 + SIGINT, "interrupted twice", false};
    state.departure->awaits_outcome = false;
    if (!has_workers(state)) return exit_now(turn);
    turn.emit(agent::Say{"second SIGINT: killing the workers"});
    return stop_workers(turn, SIGKILL, Duration::zero());
  }
  if (state.departure && event.signal != SIGINT) return;  // Slurm repeats SIGTERM
  turn.emit(agent::Say{announcement(turn, event, polite)});
  if (!state.departure) {
    auto why = "received " + signal_name(event.signal);
    state.departure = Departure{128 + event.signal, why, true};
    turn.emit(agent::Leave{128 + event.signal, std::move(why)});
  }
  state.failure_open = false;
  if (!has_workers(state)) return depart(turn);
  stop_workers(turn, passed_on(event.signal), polite ? turn.settings.grace : Duration::zero());
}

void on(Turn& turn, agent::SignalCame const& event) {
  auto& state = turn.state;
  bool const handled = turn.settings.signals_to_handle.count(event.signal) > 0;
  if (event.signal == SIGTSTP) return suspend(turn);
  if (event.signal == SIGCONT) {
    turn.emit(agent::Thaw{});
    return;
  }
  if ((event.signal == SIGUSR1 || event.signal == SIGUSR2) && !handled) {
    if (has_workers(state)) turn.emit(agent::SignalWorkers{event.signal});
    return;
  }
  end_by_signal(turn, event);
}

// Whatever dies of SIGKILL from now on died of the guardian. What it overlooked (a worker that was
// being started) dies of us.
void on(Turn& turn, agent::Fenced const&) {
  auto& state = turn.state;
  if (!has_workers(state)) return;
  if (state.phase == AgentPhase::running) state.fenced = true;
  stop_workers(turn, SIGKILL, Duration::zero());
}

void on(Turn& turn, agent::GuardianGone const&) {
  auto& state = turn.state;
  if (!state.departure) {
    state.departure = Departure{128 + SIGKILL, "the guardian was killed", false};
    turn.emit(agent::Leave{128 + SIGKILL, state.departure->why});
  }
  state.departure->awaits_outcome = false;
  if (!has_workers(state)) return exit_now(turn);
  stop_workers(turn, SIGKILL, Duration::zero());
}

void on(Turn& turn, agent::Tick const&) {
  auto& state = turn.state;
  if (state.failure_open && turn.now >= state.report_at) report_failure(turn);
  if (state.phase == AgentPhase::leaving && turn.now >= state.exit_at) exit_now(turn);
}

}  // namespace

bool ended_as_asked(AgentState const& state, ExitStatus status, TimePoint now) {
  if (state.signal_sent == 0) return false;
  // A SIGKILL within the grace is somebody else's: of a rank that died first and is seen second.
  if (status.signal == SIGKILL) return now >= state.kills_from;
  return status.success() || status.signal == state.signal_sent ||
         status.code == 128 + state.signal_sent;
}

std::vector<agent::Effect> agent_step(AgentState& state, agent::Event const& event, TimePoint now,
                                      AgentSettings const& settings) {
  Turn turn{state, now, settings, {}};
  if (state.phase == AgentPhase::over) return {};
  std::visit([&](auto const& one) { on(turn, one); }, event);
  auto const wake = std::min(state.failure_open ? state.report_at : TimePoint::max(),
                             state.phase == AgentPhase::leaving ? state.exit_at : TimePoint::max());
  if (wake != TimePoint::max()) turn.emit(agent::WakeAt{wake});
  return std::move(turn.effects);
}

}  // namespace muster::launch
