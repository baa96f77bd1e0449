// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that host and members say to each other, as values. The control protocol
// (rendezvous/control) carries them; the cores send and receive nothing else. Every message may be
// sent again: each answer depends on what is held, not on how often it was asked.

#include "rendezvous/base/error.hpp"
#include "rendezvous/membership/record.hpp"
#include "rendezvous/membership/settings.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::membership {

// Stands before every message: whose job, which life of it, which reign, which round, who speaks.
struct Header {
  std::string run_id;
  Generation generation;
  Epoch epoch;
  RoundNumber round;        // the sender's last committed round
  Incarnation incarnation;  // the sender
  std::uint64_t request = 0;

  friend bool operator==(Header const&, Header const&) = default;
};

// How far a member is. Rides on every JOIN and LEASE, so that a lost message heals within a lease.
struct Status {
  RoundNumber prepared, committed;
  RoundNumber stopped;  // no worker of rounds up to this one is alive
  RoundNumber done;     // all workers of this round exited 0

  friend bool operator==(Status const&, Status const&) = default;
};

// How the workers of one node failed by themselves.
struct Failure {
  RoundNumber round;
  std::int32_t exit_code = 1;
  bool is_consequence = false;
  std::int64_t age_ns = 0;  // how long ago, at sending: the clocks of two hosts have no common zero
  std::string report;

  friend bool operator==(Failure const&, Failure const&) = default;
};

// -- from a member ---------------------------------------------------------------------------
struct Join {
  NodeFacts facts;
  JobSettings job;
  Status status;
  std::string backend;
  friend bool operator==(Join const&, Join const&) = default;
};
struct Lease {
  std::int64_t stamp_ns = 0;  // the sender's own clock; comes back in the ACK
  Status status;
  friend bool operator==(Lease const&, Lease const&) = default;
};
struct StoreOpened {
  RoundNumber round;
  std::uint16_t port = 0;
  std::string error;  // not empty: it could not be opened
  friend bool operator==(StoreOpened const&, StoreOpened const&) = default;
};
struct Prepared {
  RoundNumber round;
  friend bool operator==(Prepared const&, Prepared const&) = default;
};
struct Stopped {
  RoundNumber round;
  friend bool operator==(Stopped const&, Stopped const&) = default;
};
struct Failed {
  Failure failure;
  friend bool operator==(Failed const&, Failed const&) = default;
};
struct Done {
  RoundNumber round;
  friend bool operator==(Done const&, Done const&) = default;
};
struct OutcomeAck {
  friend bool operator==(OutcomeAck const&, OutcomeAck const&) = default;
};
struct Leave {
  std::int32_t exit_code = 0;
  std::string why;
  friend bool operator==(Leave const&, Leave const&) = default;
};
// A guardian's proof, on a connection of its own: the agent is gone and every worker reaped.
struct LastWord {
  Incarnation node;
  friend bool operator==(LastWord const&, LastWord const&) = default;
};

// -- from the host ---------------------------------------------------------------------------
struct Welcome {
  std::string host;  // the name of the machine that hosts
  JobSettings job;   // what holds for this job
  friend bool operator==(Welcome const&, Welcome const&) = default;
};
struct Ack {
  std::int64_t stamp_ns = 0;
  RoundNumber failure_seen;  // this member's FAILED of that round arrived
  friend bool operator==(Ack const&, Ack const&) = default;
};
struct Waiting {
  std::uint32_t have = 0, min_nodes = 0, max_nodes = 0;
  std::vector<std::string> hosts;  // who is there, at most kNamedHosts
  friend bool operator==(Waiting const&, Waiting const&) = default;
};
struct OpenStore {
  RoundNumber round;
  friend bool operator==(OpenStore const&, OpenStore const&) = default;
};
struct Prepare {
  Record record;
  friend bool operator==(Prepare const&, Prepare const&) = default;
};
struct Commit {
  Record record;
  TableRow row;                    // the receiver's own
  std::vector<std::string> hosts;  // by group rank; empty if more than kNamedHosts
  friend bool operator==(Commit const&, Commit const&) = default;
};
struct Stop {
  RoundNumber round;  // and all before it
  std::optional<std::int64_t> grace_ns;
  std::string why;
  friend bool operator==(Stop const&, Stop const&) = default;
};
struct Outcome {
  bool success = false;
  std::int32_t exit_code = 0;
  std::string why;
  std::vector<std::string> reports;  // the root cause's first
  friend bool operator==(Outcome const&, Outcome const&) = default;
};
struct Refused {
  Errc code = Errc::refused;
  std::string what, hint;
  friend bool operator==(Refused const&, Refused const&) = default;
};
struct Deposed {  // the sender speaks of a reign or a job that is over
  Generation generation;
  Epoch epoch;
  friend bool operator==(Deposed const&, Deposed const&) = default;
};

// -- between voters --------------------------------------------------------------------------
struct VoteRequest {
  Epoch epoch;  // the reign that the candidate asks for
  friend bool operator==(VoteRequest const&, VoteRequest const&) = default;
};
struct VoteReply {
  Epoch epoch;
  bool granted = false;
  std::optional<Record> highest;  // the newest record held, a prepared one included
  friend bool operator==(VoteReply const&, VoteReply const&) = default;
};

using Message = std::variant<Join, Lease, StoreOpened, Prepared, Stopped, Failed, Done, OutcomeAck,
                             Leave, LastWord, Welcome, Ack, Waiting, OpenStore, Prepare, Commit,
                             Stop, Outcome, Refused, Deposed, VoteRequest, VoteReply>;

// Lists of host names for people stop here: a COMMIT stays below 4 KB whatever N is.
inline constexpr std::size_t kNamedHosts = 64;

// A report beyond this is left out of the outcome, as are those of further nodes: what remains fits
// one control message.
inline constexpr std::size_t kMaxReportBytes = 64u << 10;
inline constexpr std::size_t kMaxReports = 32;

}  // namespace muster::membership
