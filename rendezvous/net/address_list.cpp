// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/address_list.hpp"

namespace muster::net {

asio::ip::address plain_address(asio::ip::address address) {
  if (!address.is_v6()) return address;
  auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6);
  v6.scope_id(0);
  return v6;
}

AddressList::AddressList(std::vector<std::string> const& numeric) {
  add(numeric);
}

void AddressList::add(std::vector<std::string> const& numeric) {
  for (auto const& text : numeric) {
    error_code ec;
    auto const address = asio::ip::make_address(text, ec);
    if (!ec) members_.insert(plain_address(address));
  }
}

bool AddressList::admits(asio::ip::address const& peer, asio::ip::address const& local) const {
  auto const caller = plain_address(peer);
  return caller.is_loopback() || caller == plain_address(local) || members_.contains(caller);
}

}  // namespace muster::net
