// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/endpoint_bind.hpp"

#include "rendezvous/base/ip_address.hpp"
#include "rendezvous/net/listener.hpp"

#include <algorithm>

namespace muster::launch {
namespace {

bool is_loopback_name(std::string const& host) {
  return host.empty() || host == "localhost" || host.ends_with(".localhost") ||
         host == "localhost.localdomain" || host == "ip6-localhost" || host == "ip6-loopback";
}

bool is_numeric(std::string const& host) {
  net::error_code ec;
  net::asio::ip::make_address(host, ec);
  return !ec;
}

}  // namespace

bool is_loopback_address(std::string const& numeric) {
  net::error_code ec;
  auto const address = net::asio::ip::make_address(numeric, ec);
  if (ec) return false;
  if (address.is_v6() && address.to_v6().is_v4_mapped()) return numeric.starts_with("::ffff:127.");
  return address.is_loopback();
}

bool is_loopback_place(std::string const& host) {
  return is_numeric(host) ? is_loopback_address(host) : is_loopback_name(host);
}

std::vector<std::string> bind_addresses(std::string const& host, std::string const& own_name,
                                        std::vector<std::string> resolved) {
  std::sort(resolved.begin(), resolved.end());
  resolved.erase(std::unique(resolved.begin(), resolved.end()), resolved.end());
  if (is_numeric(host) || is_loopback_name(host)) return resolved;
  auto const all_loopback = std::all_of(resolved.begin(), resolved.end(), is_loopback_address);
  if (host == own_name || (!resolved.empty() && all_loopback)) return {""};
  return resolved;
}

std::variant<Bound, NotOurs, InUse, Error> bind_endpoint(net::asio::io_context& io,
                                                         std::vector<std::string> const& addresses,
                                                         std::uint16_t port) {
  Bound bound;
  for (auto const& address : addresses) {
    auto acceptor = net::listen_on(io, address, port);
    if (acceptor) {
      bound.push_back(*std::move(acceptor));
      continue;
    }
    if (acceptor.error().code == Errc::address_in_use) return InUse{};
    // Nothing that another address, or another node, would cure.
    auto const code = acceptor.error().code;
    if (code == Errc::permission || code == Errc::limit) return acceptor.error();
  }
  if (bound.empty()) return NotOurs{};
  return bound;
}

std::string listen_address(std::string const& given,
                           std::span<membership::NodeNetwork const> networks) {
  auto const ip = parse_ip(given);
  if (!ip) return {};
  if (is_loopback(*ip)) return given;
  for (auto const& network : networks)
    if (parse_ip(network.address) == ip) return with_zone(network.address, network.interface);
  return {};
}

std::string dial_address(std::string const& address,
                         std::span<membership::NodeNetwork const> networks) {
  for (auto const& network : networks)
    if (auto const own = parse_ip(network.address); own && own->is_v6 && is_link_local(*own))
      return with_zone(address, network.interface);
  return address;
}

bool can_never_resolve(std::string const& host) {
  return host == "invalid" || host.ends_with(".invalid") || host.ends_with(".invalid.");
}

}  // namespace muster::launch
