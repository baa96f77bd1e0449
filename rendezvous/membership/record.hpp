// SPDX-License-Identifier: Apache-2.0
#pragma once
// What outlives a rendezvous host: the record of one committed decision, kept by the voters that it
// names. The host has no truth of its own. Values only.

#include "rendezvous/base/ids.hpp"
#include "rendezvous/membership/node_network.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::membership {

// What an agent says about itself.
struct NodeFacts {
  Incarnation incarnation;
  std::string host;     // its name, for people and for the order of ranks
  std::string address;  // numeric, as its peers reach it; "" lets the host take what it sees
  std::int32_t given_rank = -1;
  std::uint32_t local_world_size = 1;
  std::string role = "default";
  // A name that outlives the process (a pod's, a given one): whoever comes with the id of a member
  // takes that member's place. Empty: it has none.
  std::string node_id;
  std::string order_key;              // ranks follow it before names: a switch, a rack
  std::uint16_t control_port = 0;     // of its own listener, where voters and candidates are called
  std::vector<NodeNetwork> networks;  // that it offers, best first

  friend bool operator==(NodeFacts const&, NodeFacts const&) = default;
};

// One node's place in a round.
struct TableRow {
  Incarnation node;
  std::string host, address;
  std::string interface;  // of `address` on that node, or ""
  std::uint32_t group_rank = 0;
  std::uint32_t rank_base = 0, local_world_size = 1;
  std::uint32_t role_rank_base = 0, role_world_size = 1;

  friend bool operator==(TableRow const&, TableRow const&) = default;
};
using Table = std::vector<TableRow>;  // by group rank

// A host's name in a seat is for people, and cut to this length: a record is to stay small.
inline constexpr std::size_t kMostSeatName = 24;

// A voter, and where its listener is called.
struct Seat {
  Incarnation node;
  std::string host, address;
  std::uint16_t port = 0;

  friend bool operator==(Seat const&, Seat const&) = default;
};
using Seats = std::vector<Seat>;

// Who may decide, and whose word breaks a tie.
struct Electorate {
  Incarnation host;
  Seats voters;

  friend bool operator==(Electorate const&, Electorate const&) = default;
};

struct MasterEndpoint {
  std::string address;
  std::uint16_t port = 0;

  friend bool operator==(MasterEndpoint const&, MasterEndpoint const&) = default;
};

// Counted job-wide, never reset while the job lives.
struct Budgets {
  std::uint32_t worker_failures = 0;     // against --max-restarts
  std::uint32_t membership_changes = 0;  // losses and joins: not failures
  std::uint32_t brief_rounds = 0;        // in a row, each ended by a loss soon after its start

  friend bool operator==(Budgets const&, Budgets const&) = default;
};

enum class Reason {
  first_round,
  worker_failure,
  member_lost,
  member_joined,
  member_left,
  succession,
  outcome,
};
std::string_view name_of(Reason reason);

struct RecordOutcome {
  bool success = false;
  std::int32_t exit_code = 0;  // of the cause
  std::string why;

  friend bool operator==(RecordOutcome const&, RecordOutcome const&) = default;
};

struct Record {
  Generation generation;
  Epoch epoch;
  RoundNumber round;  // one number per record: rounds and the outcome alike
  Incarnation host;   // who proposed it; breaks ties of its quorum
  Seats voters;
  std::uint32_t nodes = 0, world_size = 0;
  MasterEndpoint master;
  std::uint64_t table_digest = 0;
  Budgets used;
  std::uint32_t repeat = 0;  // rounds before this one with the same worker_failures
  Reason reason = Reason::first_round;
  std::optional<RecordOutcome> outcome;  // set: the job is over and this round has no workers

  friend bool operator==(Record const&, Record const&) = default;
};

inline Electorate electorate_of(Record const& record) {
  return {record.host, record.voters};
}

// A later decision: of a later reign, or of the same reign with a higher number.
inline bool is_newer(Record const& a, Record const& b) {
  if (a.generation != b.generation) return a.generation > b.generation;
  if (a.epoch != b.epoch) return a.epoch > b.epoch;
  return a.round > b.round;
}

}  // namespace muster::membership
