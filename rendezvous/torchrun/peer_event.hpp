// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events and effects of peer_step.

#include "rendezvous/torchrun/peer.hpp"

#include <variant>

namespace muster::torchrun {
namespace peer {

struct Begin {};
struct StoreAnswered {  // what lies under the key now
  std::string value;
};
struct StoreFailed {
  Error error;
};
struct Agreed {
  std::int64_t round = 0;
  NodeDesc store_owner;
};
struct NotAgreed {
  std::int64_t round = 0;
  Error error;
};
struct Counted {  // how many agents of the round are at the exit barrier
  std::int64_t round = 0;
  std::int64_t agents = 0;
};
struct BarrierPassed {
  std::int64_t round = 0;
};
struct WorkersFailed {
  int exit_code = 1;
  std::string report;
};
struct WorkersDone {};
struct WorkersStopped {};
struct LeaveWanted {
  int exit_code = 0;
  std::string why;
};
struct Tick {};
using Event =
    std::variant<Begin, StoreAnswered, StoreFailed, Agreed, NotAgreed, Counted, BarrierPassed,
                 WorkersFailed, WorkersDone, WorkersStopped, LeaveWanted, Tick>;

struct Read {  // also makes the key, with kNoState, where it is missing
  friend bool operator==(Read, Read) = default;
};
struct Replace {
  std::string expected, desired;
  friend bool operator==(Replace const&, Replace const&) = default;
};
struct Agree {
  Seat seat;
  friend bool operator==(Agree const&, Agree const&) = default;
};
struct StopAgreeing {
  friend bool operator==(StopAgreeing, StopAgreeing) = default;
};
struct StartWorkers {
  friend bool operator==(StartWorkers, StartWorkers) = default;
};
struct StopWorkers {
  std::string why;
  friend bool operator==(StopWorkers const&, StopWorkers const&) = default;
};
struct EnterBarrier {
  std::int64_t round;
  friend bool operator==(EnterBarrier, EnterBarrier) = default;
};
struct Count {
  std::int64_t round;
  friend bool operator==(Count, Count) = default;
};
struct Say {
  std::string text;
  friend bool operator==(Say const&, Say const&) = default;
};
struct End {
  PeerEnd end;
};
struct WakeAt {
  TimePoint at;
  friend bool operator==(WakeAt, WakeAt) = default;
};
using Effect = std::variant<Read, Replace, Agree, StopAgreeing, StartWorkers, StopWorkers,
                            EnterBarrier, Count, Say, End, WakeAt>;

}  // namespace peer
}  // namespace muster::torchrun
