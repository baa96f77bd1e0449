// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that host and members say to each other, as values. The control protocol
// (rendezvous/control) carries them; the cores send and receive nothing else. Every message may be
// sent again: each answer depends on what is held, not on how often it was asked.

#include "rendezvous/base/error.hpp"
#include "rendezvous/membership/probe.hpp"
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
  RoundNumber stopped;              // no worker of rounds up to this one is alive
  RoundNumber done;                 // all workers of this round exited 0
  Epoch prepared_in, committed_in;  // under which reign: a record may be committed again

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
  std::optional<TableRow> row;  // its place in the round that status.committed names
  // This process' life before, which was counted out: its workers are dead, and it says no more.
  Incarnation former;
  friend bool operator==(Join const&, Join const&) = default;
};
// "I was called by `node` so long ago while the host was silent, and told it that it is not
// forgotten": who decides later must not count it as silent since before.
struct Vouch {
  Incarnation node;
  std::int64_t age_ns = 0;
  friend bool operator==(Vouch const&, Vouch const&) = default;
};
struct Lease {
  std::int64_t stamp_ns = 0;       // the sender's own clock; comes back in the ACK
  std::int64_t host_stamp_ns = 0;  // of the newest ACK that arrived
  std::int64_t dead_ns = 0;        // the limit that the sender goes by
  Status status;
  std::vector<Vouch> vouches;
  friend bool operator==(Lease const&, Lease const&) = default;
};
struct StoreOpened {
  RoundNumber round;
  std::uint16_t port = 0;
  std::string error;  // not empty: it could not be opened
  friend bool operator==(StoreOpened const&, StoreOpened const&) = default;
};
struct Probed {  // which of the PROBE's targets could not be reached
  RoundNumber round;
  std::uint32_t attempt = 0;
  std::vector<ProbeFailure> failures;
  friend bool operator==(Probed const&, Probed const&) = default;
};
struct Prepared {
  RoundNumber round;
  std::vector<Vouch> vouches;
  friend bool operator==(Prepared const&, Prepared const&) = default;
};
struct Stopped {
  RoundNumber round;
  std::uint32_t unclean = 0;  // workers that outlived SIGKILL (state D): this node cannot go on
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
// A guardian's proof, on a connection of its own: the agent is gone and every worker reaped. The
// header's epoch and round are those of the newest record that the agent had prepared, or the epoch
// is a later one that it had voted for: who knows of an older reign's or an earlier one only does
// not know what else that agent had decided, or made another decide.
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
  std::int64_t host_stamp_ns = 0;  // the host's own clock; comes back in the LEASE
  // How long ago a quorum of voters still held this host for theirs: the lease that is acknowledged
  // counts from so much earlier.
  std::int64_t quorum_age_ns = 0;
  std::int64_t dead_ns = 0;  // the limit for this member from now on
  RoundNumber failure_seen;  // this member's FAILED of that round arrived
  friend bool operator==(Ack const&, Ack const&) = default;
};
struct Waiting {
  std::uint32_t have = 0, min_nodes = 0, max_nodes = 0;
  std::vector<std::string> hosts;  // who is there, at most kNamedHosts
  std::string text;                // what is waited for, and until when, for people
  Seats voters;  // for a node without a place: who knows where the next host is, should this one go
  friend bool operator==(Waiting const&, Waiting const&) = default;
};
// Said again for the same round: these peers may use its store, too.
struct OpenStore {
  RoundNumber round;
  std::string address;             // to listen on; "" for all
  std::vector<std::string> peers;  // addresses by which the round's members may call
  friend bool operator==(OpenStore const&, OpenStore const&) = default;
};
struct Probe {
  RoundNumber round;
  std::uint32_t attempt = 0;
  std::vector<ProbeTarget> targets;
  friend bool operator==(Probe const&, Probe const&) = default;
};
struct Prepare {
  Record record;
  std::vector<Electorate> bases;  // whose quorums it needs besides that of its own voters
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
// The receiver takes part no longer; it may come again, as a newcomer.
struct Evicted {
  std::string why;
  friend bool operator==(Evicted const&, Evicted const&) = default;
};
// Everybody has heard the outcome, or had their time: go.
struct Released {
  friend bool operator==(Released const&, Released const&) = default;
};
// The sender hosts no longer, of its own will: elect.
struct Resigned {
  friend bool operator==(Resigned const&, Resigned const&) = default;
};

// -- from anybody ----------------------------------------------------------------------------
// Who hosts the job, as far as the sender knows: to callers who look for it, to hosts of older
// reigns, and to a host that was born while this one reigns.
struct HostIs {
  Generation generation;
  Epoch epoch;
  Seat host;
  bool committed = false;  // it has committed a record: no newborn
  friend bool operator==(HostIs const&, HostIs const&) = default;
};

// -- between voters --------------------------------------------------------------------------
// While the host is silent: am I forgotten?
struct Ask {
  std::int64_t stamp_ns = 0;
  RoundNumber prepared{};  // the newest record that the asker holds, and under which reign
  Epoch prepared_in{};
  friend bool operator==(Ask const&, Ask const&) = default;
};
struct Answer {  // the header's epoch says under which reign
  std::int64_t stamp_ns = 0;
  bool granted = false;  // the voter misses the host too, and will vouch for the asker
  friend bool operator==(Answer const&, Answer const&) = default;
};
struct VoteRequest {
  Epoch epoch;               // the reign that the candidate asks for
  bool at_endpoint = false;  // it was called as the host: the one before it is not there any more
  bool trial = false;        // would you? Asked first, so that a hopeless candidate disturbs nobody
  friend bool operator==(VoteRequest const&, VoteRequest const&) = default;
};
// A record that was prepared, and whose quorums it needs besides that of its own voters.
struct Proposed {
  Record record;
  std::vector<Electorate> bases;
  friend bool operator==(Proposed const&, Proposed const&) = default;
};
struct VoteReply {
  Epoch epoch;         // of the request
  Epoch promised;      // the newest reign that the voter knows
  bool trial = false;  // as in the request
  bool granted = false;
  std::int64_t host_age_ns = 0;     // since the voter last heard the host before
  std::optional<Proposed> highest;  // the newest record held, a prepared one included
  std::optional<Record> committed;
  std::vector<Vouch> vouches;
  std::vector<Incarnation> gone;  // by their last word
  friend bool operator==(VoteReply const&, VoteReply const&) = default;
};

using Message = std::variant<Join, Lease, StoreOpened, Probed, Prepared, Stopped, Failed, Done,
                             OutcomeAck, Leave, LastWord, Welcome, Ack, Waiting, OpenStore, Probe,
                             Prepare, Commit, Stop, Outcome, Refused, Evicted, Released, Resigned,
                             HostIs, Ask, Answer, VoteRequest, VoteReply>;

// Lists of host names for people stop here: a COMMIT stays below 4 KB whatever N is.
inline constexpr std::size_t kNamedHosts = 64;

// A report beyond this is left out of the outcome, as are those of further nodes: what remains fits
// one control message.
inline constexpr std::size_t kMaxReportBytes = 64u << 10;
inline constexpr std::size_t kMaxReports = 32;

}  // namespace muster::membership
