// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dynamic-linear voting (Jajodia and Mutchler, "Dynamic voting algorithms for maintaining the
// consistency of a replicated database", 1990): each committed record is the base of the next
// decision.

#include "rendezvous/membership/record.hpp"

#include <set>

namespace muster::membership {

// Everybody up to this many nodes votes; beyond it, this many spread over the ranks.
inline constexpr std::size_t kMostVoters = 31;

std::vector<Incarnation> choose_voters(Table const& table);

// More than half of the record's voters answered, or exactly half and its host among those who
// answered. A voter is counted out only where its death is proven.
bool has_quorum(Record const& base, std::set<Incarnation> const& answered,
                std::set<Incarnation> const& proven_dead);

}  // namespace muster::membership
