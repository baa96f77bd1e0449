// SPDX-License-Identifier: Apache-2.0
#pragma once
// Letters to many peers, each on a connection of ours that is made when it is first wanted and kept
// for a while after its last use. Nothing is promised: what cannot be sent is dropped in silence,
// for whoever writes such letters repeats them. Control thread only.

#include "rendezvous/net/control_connection.hpp"
#include "rendezvous/net/dialer.hpp"

#include <functional>
#include <memory>

namespace muster::net {

class PeerLines {
 public:
  // Answers, on whichever line. Comes from the io_context, never from inside a call.
  using OnLetter = std::function<void(control::Letter)>;

  PeerLines(asio::io_context& io, ControlSide self, OnLetter on_letter);
  ~PeerLines();
  PeerLines(PeerLines const&) = delete;
  PeerLines& operator=(PeerLines const&) = delete;

  void send(Place const& place, control::Letter letter);
  // Hangs up everywhere; what is queued for open lines is still sent.
  void clear();

  std::size_t open_lines() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
