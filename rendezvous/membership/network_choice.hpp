// SPDX-License-Identifier: Apache-2.0
#pragma once
// By which of its addresses each node is reached by the others: over the network that all share,
// the one of the rendezvous first, and never a loopback or a bridge of containers between machines.
// Pure.

#include "rendezvous/base/result.hpp"
#include "rendezvous/membership/node_network.hpp"

#include <span>
#include <string>
#include <vector>

namespace muster::membership {

// What the choice asks about a node.
struct NodeReach {
  std::string host;
  std::string address;  // the one that it gave, or by which the rendezvous sees it
  std::string dialled;  // the address of the rendezvous that it called; "" in the host's process
  std::vector<NodeNetwork> networks;  // that it offers, best first
};

struct ChosenNetwork {
  std::string interface;  // "" on one machine, and where no interface of the node has the address
  std::string address;

  friend bool operator==(ChosenNetwork const&, ChosenNetwork const&) = default;
};

// One for each node, in their order. Nodes of different subnets are taken at the addresses by which
// they reached the rendezvous. An error names two nodes that have no way to each other.
Result<std::vector<ChosenNetwork>> choose_networks(std::span<NodeReach const> nodes);

}  // namespace muster::membership
