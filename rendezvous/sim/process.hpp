// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine, and one life of the program on it: agent or daemon, with its guardian and its workers.
// Values only; World moves them.

#include "rendezvous/membership/host_step.hpp"
#include "rendezvous/membership/member_step.hpp"
#include "rendezvous/sim/happening.hpp"

#include <map>
#include <optional>

namespace muster::sim {

// A host in this process, and how it reaches its members: by a connection, or in the process.
struct Hosting {
  membership::Host host;
  membership::JobSettings job;
  std::map<Incarnation, std::optional<ConnectionId>> routes;
  std::map<Incarnation, TimePoint> heard;  // in the world's time, for the invariants
  TimePoint wake = TimePoint::max();
  bool finished = false;
};

// What the user's script does on this node.
struct Workers {
  Generation generation;
  RoundNumber round;     // whose workers are alive; 0: none are
  RoundNumber finished;  // the last round whose workers all exited 0
  std::uint32_t start = 0, stretch = 0;
  TimePoint ends_at;
  Duration left{};                        // while they are held
  bool held = false;                      // SIGSTOP
  bool failed = false;                    // one is dead of itself, the others wait for it
  std::optional<RoundNumber> stop_order;  // the agent is to hear when they are dead
  bool will_stick = false;                // the next kill leaves one in state D
  bool killed = false;                    // SIGKILL was sent
  std::uint32_t unclean = 0;              // those
  TimePoint excused_until;                // their machine stood still: they ran on unknowingly
};

// A connection on which the guardian will say that this node is dead.
struct WordLine {
  NodeIndex node = 0;
  std::optional<ConnectionId> connection;
};

struct Guardian {
  bool alive = true;
  TimePoint due = TimePoint::max();  // unless the agent runs again before: its workers are killed
  TimePoint looks_at = TimePoint::max();  // the next GuardianLooks
  bool finished = false;                  // the job knows how this node ended
  std::optional<control::Letter> word;
  membership::Seats voters;  // to whom; nobody: to the host
  std::vector<WordLine> lines;
};

struct Process {
  ProcessId id;
  NodeIndex node = 0;
  std::uint32_t life = 1;        // of this node's
  bool alive = true;             // the agent itself, or the daemon
  bool gone = false;             // and its guardian and workers: nothing is left
  bool ending = false;           // it waits for its workers to die
  bool stopped = false;          // SIGSTOP
  std::vector<Happening> inbox;  // what it will find when it goes on

  std::optional<membership::MemberState> member;  // none: a daemon
  TimePoint member_wake = TimePoint::max();
  std::optional<Hosting> hosting;
  std::optional<membership::HostIs> elsewhere;  // whom a host that ended knew in its place

  membership::Seat target;  // whom the member calls; without an address: the endpoint
  std::optional<ConnectionId> to_host;
  bool in_process = false;  // the member talks to the host in its own process
  std::uint32_t calls = 0;
  std::map<Incarnation, ConnectionId> to_seats, callers;
  std::map<ConnectionId, std::vector<Parcel>> unsent;  // on calls not yet answered
  bool watching = false;
  std::optional<ConnectionId> watch_line;

  Workers workers;
  Guardian guardian;
  std::optional<membership::Outcome> outcome;
  std::optional<Error> error;
  TimePoint ended_at;

  bool is_agent() const { return member.has_value(); }
  bool ended() const { return outcome || error; }
};

struct Node {
  std::string name, address;
  std::uint32_t local_world_size = 1;
  Duration clock_offset{};
  double clock_drift = 0;
  Duration late{};  // of its timers
  bool powered = true, frozen = false;
  std::uint32_t pauses = 0;  // which Resume counts
  std::uint32_t lives = 0;
  std::uint16_t next_port = 20'000;
  ProcessId process;  // the last that was started here
};

// An incarnation names its process, so that whoever meets one knows where it lives. The low byte
// counts the lives of a member that came back after an eviction.
inline Incarnation incarnation_of(ProcessId process, std::uint64_t chance) {
  return Incarnation{(chance << 32) | (std::uint64_t{process.value} << 8) | 1};
}
inline ProcessId process_of(Incarnation incarnation) {
  return ProcessId{static_cast<std::uint32_t>((incarnation.value >> 8) & 0xffffff)};
}

}  // namespace muster::sim
