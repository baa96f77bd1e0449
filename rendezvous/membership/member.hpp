// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one agent knows of its job: its place, its lease, how far its workers are, and what it keeps
// as a voter. Events and effects of member_step.

#include "rendezvous/membership/voter.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace muster::membership {

enum class MemberPhase {
  joining,  // until the first COMMIT
  taking_part,
  over,
};

struct MemberState {
  NodeFacts facts;
  JobSettings job;  // its own until WELCOME, then the job's
  std::string run_id, backend;
  std::string endpoint;  // for people
  Generation generation;
  Epoch epoch;

  MemberPhase phase = MemberPhase::joining;
  bool connected = false, welcome = false;
  Voter voter;
  std::string host_name;           // of the host's machine
  std::optional<Waiting> waiting;  // who is there, as last told

  TimePoint join_until = TimePoint::max();
  TimePoint acked = TimePoint::max();  // when the last acknowledged lease was sent
  TimePoint next_lease = TimePoint::max();
  TimePoint leave_until = TimePoint::max();
  TimePoint expected_wake = TimePoint::max();
  std::int64_t acked_stamp = -1;
  // After a pause of our own: the host has until then to answer. Once for each silence of it.
  TimePoint ask_until = TimePoint::min();
  bool asked = false;

  RoundNumber running;  // whose workers were started last
  RoundNumber stopped, done;
  RoundNumber stop_asked;  // a stop of rounds up to this one is under way
  RoundNumber opening;     // a store is being opened for this round
  std::optional<StoreOpened> store;
  std::optional<Failure> failure;  // not yet acknowledged
  TimePoint failure_at;
  std::optional<Leave> leaving;
  bool fenced = false;
};

namespace member {

struct Connected {};
struct Disconnected {};
struct Heard {
  Header header;
  Message message;
};
struct StoreIsOpen {  // the answer to OpenStoreNow
  StoreOpened result;
};
struct WorkersFailed {
  Failure failure;
  TimePoint at;
};
struct WorkersDone {
  RoundNumber round;
};
struct WorkersStopped {
  RoundNumber round;
};
struct LeaveWanted {
  Leave leave;
};
struct Tick {};

using Event = std::variant<Connected, Disconnected, Heard, StoreIsOpen, WorkersFailed, WorkersDone,
                           WorkersStopped, LeaveWanted, Tick>;

struct Say {  // to the host
  Message message;
  friend bool operator==(Say const&, Say const&) = default;
};
struct OpenStoreNow {
  RoundNumber round;
  friend bool operator==(OpenStoreNow const&, OpenStoreNow const&) = default;
};
struct StartWorkers {
  Commit commit;
  friend bool operator==(StartWorkers const&, StartWorkers const&) = default;
};
struct StopWorkers {
  RoundNumber round;
  std::optional<Duration> grace;
  std::string why;
  friend bool operator==(StopWorkers const&, StopWorkers const&) = default;
};
struct Conclude {  // the job is over
  Outcome outcome;
  friend bool operator==(Conclude const&, Conclude const&) = default;
};
struct GiveUp {  // this agent takes no part
  Error error;
  friend bool operator==(GiveUp const&, GiveUp const&) = default;
};
struct WakeAt {
  TimePoint at;
  friend bool operator==(WakeAt const&, WakeAt const&) = default;
};

using Effect = std::variant<Say, OpenStoreNow, StartWorkers, StopWorkers, Conclude, GiveUp, WakeAt>;

}  // namespace member
}  // namespace muster::membership
