// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is due at some moment of virtual time. Values, so that a whole world can be copied and its
// future played twice.

#include "rendezvous/control/codec.hpp"
#include "rendezvous/membership/member_effect.hpp"
#include "rendezvous/sim/fault.hpp"

#include <memory>
#include <variant>

namespace muster::sim {

using ProcessId = Id<struct ProcessTag, std::uint32_t>;  // one life of a program; 0 is nobody

using Parcel = std::shared_ptr<control::Letter const>;  // what a connection carries; null: its end

// The caller's n-th call. Told by whom and how often, not when, so that two orders of the same
// events give the same names.
struct ConnectionId {
  ProcessId caller;
  std::uint32_t nth = 0;
  auto operator<=>(ConnectionId const&) const = default;
};

enum class Side : std::uint8_t { caller, callee };
inline Side other(Side side) {
  return side == Side::caller ? Side::callee : Side::caller;
}

namespace due {

// -- on the network
struct Dialed {  // the call arrives where it was meant to
  ConnectionId connection;
};
struct Opened {  // the caller sees that it was answered
  ConnectionId connection;
};
struct DialFailed {
  ConnectionId connection;
};
struct Arrival {
  ConnectionId connection;
  Side at = Side::caller;
  std::uint32_t era = 0;
  Parcel parcel;
};
struct Flush {  // the way is open again: what was held back goes on
  ConnectionId connection;
  Side at = Side::caller;
};
struct Heal {};  // every link works again
struct Gust {    // bad weather breaks a connection
  ConnectionId connection;
};

// -- in a process
struct MemberTick {
  ProcessId process;
  TimePoint wanted;
};
struct HostTick {
  ProcessId process;
  TimePoint wanted;
};
struct OwnLetter {  // between an agent and the host in its own process
  ProcessId process;
  bool to_host = false;
  Parcel parcel;
};
struct CallHostAgain {
  ProcessId process;
  std::uint32_t attempt = 0;
};
struct Watch {  // a host away from the endpoint looks who is there
  ProcessId process;
};
struct Notice {  // what the agent's own machine tells it
  ProcessId process;
  std::shared_ptr<membership::member::Event const> event;
};
// -- on a node, whether or not its agent runs
struct WorkersEnd {  // by themselves
  ProcessId process;
  std::uint32_t stretch = 0;  // of their time: holding them makes it another one
};
struct WorkersDead {  // told to stop, or killed
  ProcessId process;
  std::uint32_t start = 0;
};
struct Leave {  // the agent has waited long enough for those whom it hosts
  ProcessId process;
};
struct GuardianLooks {
  ProcessId process;
};
struct CallForWord {  // connections for the last word that are missing are to be opened
  ProcessId process;
};
struct StartAgent {
  NodeIndex node = 0;
};
struct Resume {
  NodeIndex node = 0;
  std::uint32_t nth = 0;
};
struct FaultStrikes {
  std::uint32_t index = 0;  // in the plan
};

}  // namespace due

using Happening = std::variant<due::Dialed, due::Opened, due::DialFailed, due::Arrival, due::Flush,
                               due::Heal, due::Gust, due::MemberTick, due::HostTick, due::OwnLetter,
                               due::CallHostAgain, due::Watch, due::Notice, due::WorkersEnd,
                               due::WorkersDead, due::Leave, due::GuardianLooks, due::CallForWord,
                               due::StartAgent, due::Resume, due::FaultStrikes>;

}  // namespace muster::sim
