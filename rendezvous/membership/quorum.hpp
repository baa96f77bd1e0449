// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dynamic-linear voting (Jajodia and Mutchler, "Dynamic voting algorithms for maintaining the
// consistency of a replicated database", 1990): each committed record is the base of the next
// decision.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/membership/record.hpp"

#include <map>
#include <set>

namespace muster::membership {

// Everybody up to this many nodes votes; beyond it, this many spread over the ranks.
inline constexpr std::size_t kMostVoters = 31;

// The round's voters: `host` among them where it has a row (the others' way to notice that it is
// gone). `where` says by group rank how each node is called.
Seats choose_voters(Table const& table, Seats const& where, Incarnation host);

// More than half of the voters answered, or exactly half and the host among those who answered. A
// voter is counted out only where its death is proven.
bool has_quorum(Electorate const& base, std::set<Incarnation> const& answered,
                std::set<Incarnation> const& proven_dead);

// Whether `node` is one of these voters.
bool is_among(Seats const& voters, Incarnation node);

// The latest moment at which a quorum still confirmed its host, by each voter's last confirmation.
// TimePoint::min() if none did.
using Confirmations = std::map<Incarnation, TimePoint>;
TimePoint confirmed_by_quorum(Incarnation host, Seats const& voters, Confirmations const& last,
                              std::set<Incarnation> const& proven_dead);

}  // namespace muster::membership
