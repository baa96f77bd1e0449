// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where others call this agent: voters and candidates at its own address, and everybody at the
// places of the endpoint that it owns. Whether it hosts the job or not. Control thread only.

#include "launcher/agent/endpoint_bind.hpp"
#include "rendezvous/net/host_service.hpp"
#include "rendezvous/net/server.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace muster::launch {

class OwnListener {
 public:
  OwnListener(net::asio::io_context& io, net::HostServiceOptions options);

  // In the stores that it serves; before add().
  void watch_key(std::string key, std::function<void()> on_written) {
    watched_ = {std::move(key), std::move(on_written)};
  }
  // `serves_store`: TCPStore clients are served there, too.
  void add(Bound acceptors, bool serves_store);
  // Listens at `address` too, or everywhere if that is "", at `port`, or another where that is
  // taken. The port at which this agent is called there: one that it has already, if it has one.
  Result<std::uint16_t> open(std::string const& address, std::uint16_t port);

  // Of the first listener; 0: there is none.
  std::uint16_t port() const;
  bool listens(std::vector<std::string> const& addresses, std::uint16_t port) const;

  net::HostService& service() { return service_; }
  // Static: the workers' store is at the endpoint. An empty one; for these addresses; for more.
  void renew_store() { servers_.front().renew_keys(); }
  void allow_only(std::vector<std::string> const& peers) { servers_.front().allow_only(peers); }
  void allow_also(std::vector<std::string> const& peers) { servers_.front().allow_also(peers); }

 private:
  net::asio::io_context& io_;
  net::HostService service_;
  std::pair<std::string, std::function<void()>> watched_;
  std::vector<net::Server> servers_;
};

// The address on which to listen beside a connection from `local` to `place`: where that is this
// very machine by its own name, others come by another address.
std::string address_beside(std::string const& local, std::string const& place);

}  // namespace muster::launch
