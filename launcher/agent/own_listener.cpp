// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/own_listener.hpp"

#include "rendezvous/net/listener.hpp"

#include <algorithm>
#include <utility>

namespace muster::launch {

OwnListener::OwnListener(net::asio::io_context& io, net::HostServiceOptions options)
    : io_(io), service_(io, std::move(options)) {}

void OwnListener::add(Bound acceptors, bool serves_store) {
  for (auto& acceptor : acceptors) {
    net::ServerOptions server;
    server.serves_store = serves_store;
    server.on_control = [this](net::tcp::socket socket, std::string bytes) {
      service_.take(std::move(socket), std::move(bytes));
    };
    servers_.emplace_back(std::move(acceptor), std::move(server));
    auto const& [key, on_written] = watched_;
    if (serves_store && on_written) servers_.back().watch_key(key, on_written);
  }
}

Result<std::uint16_t> OwnListener::open(std::string const& address, std::uint16_t port) {
  for (auto const& server : servers_)
    if (server.endpoint().address().is_unspecified() ||
        net::numeric_address(server.endpoint()) == address)
      return server.port();
  auto acceptor = net::listen_on(io_, address, port);
  if (!acceptor && acceptor.error().code == Errc::address_in_use)
    acceptor = net::listen_on(io_, address, 0);
  if (!acceptor) return std::move(acceptor).error();
  Bound bound;
  bound.push_back(*std::move(acceptor));
  add(std::move(bound), false);
  return servers_.back().port();
}

std::uint16_t OwnListener::port() const {
  return servers_.empty() ? std::uint16_t{0} : servers_.front().port();
}

bool OwnListener::listens(std::vector<std::string> const& addresses, std::uint16_t port) const {
  return std::any_of(servers_.begin(), servers_.end(), [&](net::Server const& server) {
    if (server.port() != port) return false;
    auto const address = net::numeric_address(server.endpoint());
    return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
  });
}

std::string address_beside(std::string const& local, std::string const& place) {
  if (is_loopback_address(local) && !is_loopback_place(place)) return "";
  return local;
}

}  // namespace muster::launch
