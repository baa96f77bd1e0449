// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses from which connections are taken. This machine always is one: loopback, and whoever
// calls from the very address that it calls.

#include "rendezvous/net/asio.hpp"

#include <set>
#include <string>
#include <vector>

namespace muster::net {

class AddressList {
 public:
  AddressList() = default;
  // Numeric ones; others name nobody.
  explicit AddressList(std::vector<std::string> const& numeric);

  // These, too.
  void add(std::vector<std::string> const& numeric);

  bool admits(asio::ip::address const& peer, asio::ip::address const& local) const;

 private:
  std::set<asio::ip::address> members_;
};

// The same address in one form: IPv4 where it is IPv4 in IPv6, without a zone.
asio::ip::address plain_address(asio::ip::address address);

}  // namespace muster::net
