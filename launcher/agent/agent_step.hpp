// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one agent does, decided: rounds from the membership, ends of workers, signals and the
// outcome come in; starts, stops, reports and the exit go out. Pure; agent.hpp carries it out.
// How workers are stopped is group_step's business; who starts them together is the host's.

#include "launcher/agent/membership_link.hpp"
#include "launcher/process/exit_status.hpp"
#include "rendezvous/base/clock.hpp"

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace muster::launch {

struct AgentSettings {
  int workers = 1;  // of this node
  Duration grace = std::chrono::seconds{30};
  std::set<int> signals_to_handle;  // these stop the workers politely; other deadly ones at once
  bool single_node = true;          // Ctrl-Z may stop the job
  // A first failure is reported when the other workers here are down, or after this: their own
  // failures belong into the same report, but other nodes should not wait long for it.
  Duration report_hold = std::chrono::milliseconds{100};
  // An agent that leaves waits this long for the host's word; less if it never had workers.
  Duration outcome_patience = std::chrono::seconds{5};
  Duration early_patience = std::chrono::seconds{1};
};

enum class AgentPhase {
  joining,   // no round, or between two
  running,   // workers of `view` run
  stopping,  // they are being ended; what follows depends on why
  finished,  // all workers of the round exited 0
  leaving,   // no workers; waits for the outcome, then exits
  over,      // Exit was given
};

// One worker's end, in the order in which they were seen.
struct WorkerEnd {
  int local_rank = 0;
  ExitStatus status;
  TimePoint at{};
  bool by_launcher = false;  // it ended as we had asked it to

  friend bool operator==(WorkerEnd const&, WorkerEnd const&) = default;
};

// Why the agent is going to exit, once its workers are gone.
struct Departure {
  int exit_code = 0;
  std::string why;
  bool awaits_outcome = true;  // false: it was told, or nobody is left to tell it

  friend bool operator==(Departure const&, Departure const&) = default;
};

struct AgentState {
  AgentPhase phase = AgentPhase::joining;
  std::optional<RoundView> view;
  std::vector<WorkerEnd> ends;  // of this round
  bool failure_open = false;    // a failure that is not reported yet
  TimePoint report_at = TimePoint::max();
  std::optional<RoundNumber> stop_owed;  // stopped() is to be called for this round
  std::optional<Departure> departure;
  TimePoint exit_at = TimePoint::max();     // leaving: the end of the patience
  int signal_sent = 0;                      // what our workers were last asked to end with
  TimePoint kills_from = TimePoint::max();  // from then on a SIGKILL may be ours
  bool fenced = false;                      // the guardian ended our workers, who had not failed
  int interrupts = 0;
};

namespace agent {

// Events.
struct RoundCommitted {
  RoundView view;
};
struct StopOrdered {
  RoundNumber round;
  std::optional<Duration> grace;
  std::string why;
};
struct OutcomeTold {
  bool success = false;
  int exit_code = 0;
  std::string why;
};
struct LinkFailed {
  int exit_code = 1;
  bool fenced = false;
  std::string what;
};
struct WorkerEnded {
  int local_rank = 0;
  ExitStatus status;
};
struct GroupReleased {};  // every worker of the round is dead and reaped
struct StartFailed {      // a worker could not be started; those before it run
  int exit_code = 1;
  std::string what;
};
struct OutputStalled {  // with --log-stall=stop: a console or file takes nothing any more
  std::string what;
};
struct SignalCame {
  int signal = 0;
  int sender_pid = 0;  // 0: the terminal or the kernel
};
struct Fenced {};  // we did not run for so long that the guardian ended our workers
struct GuardianGone {};
struct Tick {};
using Event =
    std::variant<RoundCommitted, StopOrdered, OutcomeTold, LinkFailed, WorkerEnded, GroupReleased,
                 StartFailed, OutputStalled, SignalCame, Fenced, GuardianGone, Tick>;

// Effects, to be carried out in order.
struct StartWorkers {
  friend bool operator==(StartWorkers, StartWorkers) = default;
};
struct StopWorkers {
  int signal;
  Duration grace;
  friend bool operator==(StopWorkers, StopWorkers) = default;
};
struct KillWorkers {
  friend bool operator==(KillWorkers, KillWorkers) = default;
};
struct SignalWorkers {  // passed on, nothing else changes
  int signal;
  friend bool operator==(SignalWorkers, SignalWorkers) = default;
};
struct Freeze {  // SIGSTOP for the workers, then for the guardian
  friend bool operator==(Freeze, Freeze) = default;
};
struct Thaw {
  friend bool operator==(Thaw, Thaw) = default;
};
struct ReportFailure {  // state.ends, as they are now
  int exit_code;
  bool is_consequence;
  TimePoint at;
  friend bool operator==(ReportFailure, ReportFailure) = default;
};
struct ReportDone {
  friend bool operator==(ReportDone, ReportDone) = default;
};
struct ReportStopped {
  RoundNumber round;
  friend bool operator==(ReportStopped, ReportStopped) = default;
};
struct ReportFenced {  // the round's workers were ended by the guardian: no failure of theirs
  RoundNumber round;
  friend bool operator==(ReportFenced, ReportFenced) = default;
};
struct Leave {
  int exit_code;
  std::string why;
  friend bool operator==(Leave const&, Leave const&) = default;
};
struct Say {  // a line for the user
  std::string text;
  friend bool operator==(Say const&, Say const&) = default;
};
struct WakeAt {
  TimePoint at;
  friend bool operator==(WakeAt, WakeAt) = default;
};
struct Exit {
  int exit_code;
  friend bool operator==(Exit, Exit) = default;
};
using Effect =
    std::variant<StartWorkers, StopWorkers, KillWorkers, SignalWorkers, Freeze, Thaw, ReportFailure,
                 ReportDone, ReportStopped, ReportFenced, Leave, Say, WakeAt, Exit>;

}  // namespace agent

// Whether a worker that ended so did what it was asked to, rather than fail of itself.
bool ended_as_asked(AgentState const& state, ExitStatus status, TimePoint now);

std::vector<agent::Effect> agent_step(AgentState& state, agent::Event const& event, TimePoint now,
                                      AgentSettings const& settings);

}  // namespace muster::launch
