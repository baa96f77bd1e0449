// SPDX-License-Identifier: Apache-2.0
// The two rules of voting, one function each.

#include "rendezvous/membership/quorum.hpp"

namespace muster::membership {

std::vector<Incarnation> choose_voters(Table const& table) {
  std::vector<Incarnation> voters;
  auto const count = table.size() < kMostVoters ? table.size() : kMostVoters;
  for (std::size_t i = 0; i < count; ++i) voters.push_back(table[i * table.size() / count].node);
  return voters;
}

bool has_quorum(Record const& base, std::set<Incarnation> const& answered,
                std::set<Incarnation> const& proven_dead) {
  std::size_t electorate = 0, have = 0;
  for (auto const voter : base.voters) {
    if (proven_dead.contains(voter)) continue;
    ++electorate;
    if (answered.contains(voter)) ++have;
  }
  if (2 * have > electorate) return true;
  return 2 * have == electorate && answered.contains(base.host);
}

}  // namespace muster::membership
