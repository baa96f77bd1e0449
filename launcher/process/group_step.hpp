// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one stop sequence of muster, for a group of workers: signal, grace, SIGKILL, reaped. Every
// path that ends workers goes through it. Pure: the shell (agent/worker_group) sends the signals.
//
// A leader that ended stays a zombie until all have: so its process group keeps its number, and
// what it left behind can be killed without hitting a stranger.

#include "rendezvous/base/clock.hpp"

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

namespace muster::launch {

enum class WorkerPhase {
  running,
  stopping,  // was asked to end; SIGKILL follows at its deadline
  killed,    // SIGKILL was sent; given up at its deadline (state D)
  ended,     // its leader is a zombie
  lost,      // did not die of SIGKILL in time
};

struct WorkerState {
  WorkerPhase phase = WorkerPhase::running;
  TimePoint deadline = TimePoint::max();
};

struct GroupState {
  std::vector<WorkerState> workers;
  bool released = false;
};

namespace group {

// Events.
struct Stop {
  int signal;
  Duration grace;
};
struct KillNow {};
struct Ended {
  std::size_t worker;
};
struct Tick {};
using Event = std::variant<Stop, KillNow, Ended, Tick>;

// Effects.
struct SendSignal {  // to the worker's group, SIGCONT after it
  std::size_t worker;
  int signal;
  friend bool operator==(SendSignal, SendSignal) = default;
};
struct Kill {  // SIGKILL to its group
  std::size_t worker;
  friend bool operator==(Kill, Kill) = default;
};
struct WakeAt {
  TimePoint at;
  friend bool operator==(WakeAt, WakeAt) = default;
};
struct Release {  // nobody is left to wait for: kill the groups' rests, reap, end what escaped
  friend bool operator==(Release, Release) = default;
};
using Effect = std::variant<SendSignal, Kill, WakeAt, Release>;

}  // namespace group

// How long a worker may take to die of SIGKILL before it counts as lost.
inline constexpr Duration kKillPatience = std::chrono::seconds{10};

std::vector<group::Effect> group_step(GroupState& state, group::Event const& event, TimePoint now);

}  // namespace muster::launch
