// SPDX-License-Identifier: Apache-2.0
#pragma once
// An agent's connection to whoever hosts its job, or might: one at a time, to a known host or to
// the endpoint's places in turn. Control thread only; callbacks come from the io_context.

#include "rendezvous/net/dialer.hpp"

#include <optional>

namespace muster::launch {

class HostLine {
 public:
  struct Callbacks {
    // The place that answers, and our address on that connection.
    std::function<void(net::Place const& place, std::string const& own_address)> on_connected;
    std::function<void(control::Letter)> on_letter;
    std::function<void()> on_disconnected;
    std::function<void(Error const&)> on_problem;  // an attempt failed, further ones follow
    std::function<void(Error const&)> on_refused;  // as Dialer's
  };

  // `self`: this end of each connection.
  HostLine(net::asio::io_context& io, net::ControlSide self, Callbacks callbacks);

  // Hangs up, after sending what was said, and calls these places in turn from now on. `neighbour`:
  // who listens there is on this machine, and greets at once if it is one of us.
  void call(std::vector<net::Place> places, bool neighbour = false);
  // Whoever is there is not the host: the next place.
  void skip();
  void stop();

  void send(control::Letter letter);

  bool is_calling() const { return dialer_.has_value(); }
  // Whom it is connected to, or was last: a numeric address.
  std::optional<net::Place> const& reached() const { return reached_; }

 private:
  void lose_connection();

  net::asio::io_context& io_;
  net::ControlSide self_;
  Callbacks callbacks_;
  std::optional<net::Dialer> dialer_;
  net::ControlConnection::Ptr connection_;
  std::optional<net::Place> reached_;
};

}  // namespace muster::launch
