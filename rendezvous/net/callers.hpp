// SPDX-License-Identifier: Apache-2.0
#pragma once
// Control connections that others have made to us. Each speaks for one member of one job, which its
// first letter names; until then it is a newcomer (newcomers.hpp). Control thread only.

#include "rendezvous/net/control_connection.hpp"
#include "rendezvous/net/newcomers.hpp"

#include <set>

namespace muster::net {

class Callers {
 public:
  struct Callbacks {
    std::function<void(ControlConnection::Ptr const&, control::Letter)> on_letter;
    // The connection broke: for whom it spoke. Not called for one that had said nothing.
    std::function<void(ControlConnection::Ptr const&, membership::Header const&)> on_end;
  };

  // `self`: this end of each connection.
  Callers(asio::io_context& io, ControlSide self, Bounds const& bounds, Callbacks callbacks);
  ~Callers();  // closes every connection at once
  Callers(Callers const&) = delete;
  Callers& operator=(Callers const&) = delete;

  void take(tcp::socket socket, std::string bytes);
  void close(ControlConnection::Ptr const& connection);
  // Hangs up once everything is sent.
  void finish(ControlConnection::Ptr const& connection);

  ControlCounters const& counters() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
