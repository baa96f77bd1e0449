// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who may use the store of a round: the addresses by which its nodes may call. Pure.

#include "rendezvous/membership/roster.hpp"

#include <string>
#include <vector>

namespace muster::membership {

// Of each node the address that the round has for it, the one that it gave, the one that the host
// sees, and those of its networks, since its kernel chooses by which it calls: never a bridge of
// containers, whose address is on many machines. Numeric, each once. Of very large jobs not all
// networks, so that one message holds the list.
std::vector<std::string> store_callers(Table const& rows, Roster const& members);

// Whether that list had `address` before the host saw the node there.
bool is_own_address(NodeFacts const& facts, std::string const& address);

}  // namespace muster::membership
