// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records, votes and members from under a host that is lost, for tests of the one that comes after.

#include "rendezvous/membership/election.hpp"
#include "tests/unit/membership/host_bench.hpp"

namespace muster::membership {

inline Record record_of(std::uint64_t nodes, std::uint64_t round = 3) {
  Record record;
  record.generation = Generation{1};
  record.epoch = Epoch{1};
  record.round = RoundNumber{round};
  record.host = Incarnation{1};
  for (std::uint64_t i = 1; i <= nodes; ++i)
    record.voters.push_back(
        {Incarnation{i}, "n" + std::to_string(i), "10.0.0." + std::to_string(i), 29400});
  record.nodes = record.world_size = static_cast<std::uint32_t>(nodes);
  record.used = {1, 2, 0};
  return record;
}

inline VoteReply vote(Record const& highest, Record const& committed,
                      std::vector<Electorate> const& bases = {}) {
  VoteReply reply;
  reply.epoch = Epoch{2};
  reply.promised = Epoch{2};
  reply.granted = true;
  reply.host_age_ns = Duration{std::chrono::seconds{6}}.count();
  reply.highest = Proposed{highest, bases};
  reply.committed = committed;
  return reply;
}

// All voters but the host, node 1, grant their votes.
inline Votes votes_for(Record const& record, bool host_is_dead) {
  Votes votes;
  for (std::uint64_t i = 2; i <= record.voters.size(); ++i) {
    auto& reply = votes[Incarnation{i}] = vote(record, record);
    if (host_is_dead) reply.gone = {Incarnation{1}};
  }
  return votes;
}

// Node 2 takes over a round of n nodes whose host, node 1, was silent for six seconds.
inline void take_over(HostBench& bench, std::uint64_t nodes) {
  auto const mandate = mandate_of(votes_for(record_of(nodes), false));
  REQUIRE(mandate);
  bench.host =
      make_successor({"job", "n2", Incarnation{2}, Epoch{2}}, *mandate, bench.now, bench.settings);
}

inline Join returning(HostBench const& bench, std::uint64_t member, std::uint64_t round = 3) {
  auto join = bench.join_of(member);
  join.status = {
      RoundNumber{round}, RoundNumber{round}, RoundNumber{round - 1}, {}, Epoch{1}, Epoch{1}};
  TableRow row;
  row.node = Incarnation{member};
  row.host = join.facts.host;
  row.group_rank = static_cast<std::uint32_t>(member - 1);
  row.rank_base = row.group_rank;
  join.row = row;
  return join;
}

}  // namespace muster::membership
