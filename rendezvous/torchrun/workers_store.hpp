// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whose store do the workers of a round meet in? torchrun's rank 0 opens one and tells its address;
// but it does so once in its life, and every agent keeps the first address that it was ever told.
// So whoever holds the store that they know goes on holding it (faults W2 and W3), emptied between
// two rounds (W1). Pure.

#include "rendezvous/torchrun/peer.hpp"

namespace muster::torchrun {

struct WorkersStore {
  std::string address;
  std::uint16_t port = 0;
  std::optional<NodeDesc> owner;  // unset: not known

  friend bool operator==(WorkersStore const&, WorkersStore const&) = default;
};

// What one agent does about it before it tells the others its role: no worker runs then.
struct StorePlan {
  // Where the store is: a new one of ours, that of an earlier round, or what rank 0 tells.
  enum class Place { own, earlier, told };
  Place place = Place::told;
  bool renews_own = false;      // we hold the earlier one: drop its keys, keep its port
  bool clears_earlier = false;  // a torchrun agent holds it, and never does that itself

  friend bool operator==(StorePlan, StorePlan) = default;
};
StorePlan plan_store(Seat const& seat, std::optional<WorkersStore> const& earlier);

// Who holds a store of whose owner no note was found, hence one of torchrun's: the first member in
// torchrun's order that has its address.
std::optional<NodeDesc> owner_by_address(Seat const& seat, std::string const& address);

std::optional<std::uint16_t> read_port(std::string const& text);

// RoundKeys::store_owner.
std::string write_owner(NodeDesc const& owner);
std::optional<NodeDesc> read_owner(std::string const& text);

}  // namespace muster::torchrun
