// SPDX-License-Identifier: Apache-2.0
#pragma once
// The addresses of this node's interfaces as the kernel lists them. Asks it once: some ten
// microseconds, no thread, no name server.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::launch {

struct InterfaceAddress {
  std::string interface;
  std::string address;  // numeric, without zone
  std::uint8_t prefix_bits = 0;
  bool runs = false;  // up, with a carrier where its kind has one
  bool is_loopback = false;

  friend bool operator==(InterfaceAddress const&, InterfaceAddress const&) = default;
};

// In the kernel's order; empty where it does not say.
std::vector<InterfaceAddress> interface_addresses();

}  // namespace muster::launch
