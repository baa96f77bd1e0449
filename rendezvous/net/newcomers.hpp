// SPDX-License-Identifier: Apache-2.0
#pragma once
// The control connections of a host on which no letter has come yet: how many there may be, and how
// long. Of these and of all others how much they may hold of letters that are not whole. Counts how
// control connections end, and says it once for each kind and address. Control thread only.

#include "rendezvous/net/bounds.hpp"
#include "rendezvous/net/complaints.hpp"
#include "rendezvous/net/control_connection.hpp"
#include "rendezvous/net/control_counters.hpp"

namespace muster::net {

class Newcomers {
 public:
  Newcomers(asio::io_context& io, Bounds const& bounds);
  ~Newcomers();
  Newcomers(Newcomers const&) = delete;
  Newcomers& operator=(Newcomers const&) = delete;

  // Before it is started. Where there are too many, the one that waits longest is given up.
  void enter(ControlConnection::Ptr const& connection);
  // Its first letter has come.
  void settle(ControlConnection& connection) const { connection.settle(); }
  // It has ended by itself.
  void ended(ControlConnection const& connection, Error const& error);

  ControlCounters const& counters() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
