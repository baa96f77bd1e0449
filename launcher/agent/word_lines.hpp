// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens a control connection to everybody who is to hear this agent's last word, says there for
// whom it speaks, and hands it over (process/last_word) with the letter that the guardian is to
// say. Control thread only.

#include "launcher/agent/membership_link.hpp"
#include "launcher/process/last_word.hpp"
#include "rendezvous/net/control_connection.hpp"

#include <memory>

namespace muster::launch {

class WordLines {
 public:
  // `last_word` outlives this. `side`: what this node says of itself, and what it has to prove.
  WordLines(net::asio::io_context& io, LastWord& last_word, net::ControlSide side);
  ~WordLines();
  WordLines(WordLines const&) = delete;
  WordLines& operator=(WordLines const&) = delete;

  // Replaces what was set before: at each place once its new connection stands. Who cannot be
  // reached is tried again each second; who hangs up is called again at once. At most
  // kLastWordSlots places count.
  void set(LastWords words);

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::launch
