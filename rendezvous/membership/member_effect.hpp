// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can happen to a member, and what it asks its shell for.

#include "rendezvous/membership/host.hpp"
#include "rendezvous/membership/message.hpp"

#include <optional>
#include <variant>

namespace muster::membership::member {

// -- events ----------------------------------------------------------------------------------
struct Connected {};     // to the host, or to somebody who may be it
struct Disconnected {};  // from there; calling again is under way
struct Heard {           // from there
  Header header;
  Message message;
};
struct PeerSaid {  // on any other connection: a voter's answer, or a caller at our own listener
  Header header;
  Message message;
};
struct StoreIsOpen {  // the answer to OpenStoreNow
  StoreOpened result;
};
struct PeersProbed {  // the answer to ProbePeers
  Probed result;
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
  std::uint32_t unclean = 0;
};
struct LeaveWanted {
  Leave leave;
};
struct Tick {};

using Event = std::variant<Connected, Disconnected, Heard, PeerSaid, StoreIsOpen, PeersProbed,
                           WorkersFailed, WorkersDone, WorkersStopped, LeaveWanted, Tick>;

// -- effects ---------------------------------------------------------------------------------
struct Say {  // to the host
  Message message;
  friend bool operator==(Say const&, Say const&) = default;
};
struct CallSeat {  // to a voter, on a connection of its own that is kept for a while
  Seat seat;
  Message message;
  friend bool operator==(CallSeat const&, CallSeat const&) = default;
};
struct Reply {  // to whoever said something at our listener, on that connection
  Incarnation to;
  Message message;
  friend bool operator==(Reply const&, Reply const&) = default;
};
struct CallHost {  // hang up and call this host from now on; without an address: the endpoint
  Seat host;
  friend bool operator==(CallHost const&, CallHost const&) = default;
};
struct BecomeHost {  // this agent was elected: run this host, and be its member
  Host host;
};
struct StepDown {  // the host that runs in this process is not the job's any more
  HostIs by;
  friend bool operator==(StepDown const&, StepDown const&) = default;
};
// What the guardian is to say should we die: to the host, or, where we host, to these.
struct KeepLastWord {
  Seats voters;
  RoundNumber round;  // of the newest record prepared
  Epoch epoch{};      // its reign, or a later one that we voted for
  friend bool operator==(KeepLastWord const&, KeepLastWord const&) = default;
};
struct OpenStoreNow {
  OpenStore wish;
  friend bool operator==(OpenStoreNow const&, OpenStoreNow const&) = default;
};
struct AdmitToStore {  // that store is there: these peers may use it, too
  OpenStore wish;
  friend bool operator==(AdmitToStore const&, AdmitToStore const&) = default;
};
struct ProbePeers {
  Probe probe;
  friend bool operator==(ProbePeers const&, ProbePeers const&) = default;
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
struct PauseWorkers {  // SIGSTOP, until we know whether they may go on
  friend bool operator==(PauseWorkers const&, PauseWorkers const&) = default;
};
struct ResumeWorkers {
  friend bool operator==(ResumeWorkers const&, ResumeWorkers const&) = default;
};
struct Conclude {  // the job is over
  Outcome outcome;
  friend bool operator==(Conclude const&, Conclude const&) = default;
};
struct GiveUp {  // this agent takes no part
  Error error;
  friend bool operator==(GiveUp const&, GiveUp const&) = default;
};
struct Tell {  // a line for people: what is waited for has changed
  std::string text;
  friend bool operator==(Tell const&, Tell const&) = default;
};
struct WakeAt {
  TimePoint at;
  friend bool operator==(WakeAt const&, WakeAt const&) = default;
};

using Effect = std::variant<Say, CallSeat, Reply, CallHost, BecomeHost, StepDown, KeepLastWord,
                            OpenStoreNow, AdmitToStore, ProbePeers, StartWorkers, StopWorkers,
                            PauseWorkers, ResumeWorkers, Conclude, GiveUp, Tell, WakeAt>;

}  // namespace muster::membership::member
