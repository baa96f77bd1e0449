// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which networks this node offers to the others of its job, and under which address. Pure, over
// what the kernel lists and what the user wishes.

#include "launcher/environment/file_system.hpp"
#include "launcher/environment/interface_addresses.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/membership/node_network.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster::launch {

// A node offers no more: those of a machine full of containers would fill its messages.
inline constexpr std::size_t kMostNetworks = 64;

// What leads out of the machine: interfaces that run, loopback never, link-local addresses only
// where there is nothing else, bridges of containers and virtual machines marked. In the kernel's
// order.
std::vector<membership::NodeNetwork> usable_networks(std::span<InterfaceAddress const> listed,
                                                     FileSystem const& files);

struct NetworkWish {
  std::string networks;                   // --network; empty: any
  std::optional<std::string> local_addr;  // --local-addr
};

struct NetworkOffer {
  std::string address;  // to be reached at; "": where the rendezvous sees this node
  std::vector<membership::NodeNetwork> networks;

  friend bool operator==(NetworkOffer const&, NetworkOffer const&) = default;
};

// `--network` is a list of interfaces, subnets and addresses, the best first, for nodes that name
// them differently: one that fits is enough. What the user names is no bridge. Errors: bad_input,
// which lists what `host` has.
Result<NetworkOffer> offer_networks(std::vector<membership::NodeNetwork> const& usable,
                                    NetworkWish const& wish, std::string const& host);

}  // namespace muster::launch
