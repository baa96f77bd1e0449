// SPDX-License-Identifier: Apache-2.0
#pragma once
// One way to reach a node, as it sees itself: an interface and an address on it with its prefix.
// Values only.

#include <cstdint>
#include <string>

namespace muster::membership {

struct NodeNetwork {
  std::string interface;         // "eth0"
  std::string address;           // numeric, without zone
  std::uint8_t prefix_bits = 0;  // of its subnet
  bool is_bridge = false;        // of containers or virtual machines: not a way to other nodes

  friend bool operator==(NodeNetwork const&, NodeNetwork const&) = default;
};

}  // namespace muster::membership
