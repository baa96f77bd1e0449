// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/host_line.hpp"

#include <utility>

namespace muster::launch {
namespace {

// Somebody on this machine has the port: if it is a muster, it greets at once.
constexpr Duration kNeighbourGreets = std::chrono::milliseconds{900};

}  // namespace

HostLine::HostLine(net::asio::io_context& io, net::ControlSide self, Callbacks callbacks)
    : io_(io), self_(std::move(self)), callbacks_(std::move(callbacks)) {}

void HostLine::call(std::vector<net::Place> places, bool neighbour) {
  stop();
  net::Dialer::Callbacks callbacks;
  callbacks.on_connected = [this](net::ControlConnection::Ptr const& connection) {
    connection_ = connection;
    auto const place = dialer_->place();
    reached_ = net::Place{connection->peer_address(), place.port};
    callbacks_.on_connected(place, connection->local_address());
  };
  callbacks.on_letter = [this](control::Letter letter) { callbacks_.on_letter(std::move(letter)); };
  callbacks.on_disconnected = [this] { lose_connection(); };
  callbacks.on_problem = [this](Error const& error) { callbacks_.on_problem(error); };
  callbacks.on_refused = [this](Error const& error) { callbacks_.on_refused(error); };
  dialer_.emplace(io_, std::move(places), self_, std::move(callbacks));
  if (neighbour) dialer_->set_greeting_patience(kNeighbourGreets);
  dialer_->start();
}

void HostLine::skip() {
  if (!connection_) return;
  dialer_->skip();
  lose_connection();
}

void HostLine::stop() {
  dialer_.reset();
  if (connection_) lose_connection();
}

void HostLine::lose_connection() {
  connection_.reset();
  callbacks_.on_disconnected();
}

void HostLine::send(control::Letter letter) {
  if (connection_) net::ControlConnection::send(connection_, letter);
}

}  // namespace muster::launch
