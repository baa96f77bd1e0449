// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who gets which rank: survivors keep theirs, given ranks are obeyed, newcomers come in the natural
// order of their names (node2 before node10) and then in the order of their arrival.

#include "rendezvous/base/result.hpp"
#include "rendezvous/membership/record.hpp"

#include <span>
#include <string_view>

namespace muster::membership {

// Runs of digits compare as numbers. Negative, zero or positive.
int compare_natural(std::string_view a, std::string_view b);

// The table of the coming round. `nodes` in order of arrival, `previous` the last round's table or
// empty. With given ranks they must be exactly 0 .. n-1; an error names who is missing.
Result<Table> order_ranks(std::span<NodeFacts const> nodes, Table const& previous,
                          bool given_ranks);

// Equal tables, equal digests (FNV-1a): members compare, nobody trusts it against malice.
std::uint64_t digest_of(Table const& table);

std::uint32_t world_size_of(Table const& table);

}  // namespace muster::membership
