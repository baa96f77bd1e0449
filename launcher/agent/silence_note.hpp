// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line for the user when nobody has answered at the endpoint for a while. Control thread only.

#include "launcher/agent/endpoint_words.hpp"
#include "rendezvous/net/asio.hpp"

#include <functional>
#include <optional>

namespace muster::launch {

class SilenceNote {
 public:
  // Asked when the time is over: nothing if somebody did answer.
  using Look = std::function<std::optional<UnansweredEndpoint>()>;

  explicit SilenceNote(net::asio::io_context& io) : timer_(io) {}

  // Destroying the note ends the wait.
  void start(Look look);

 private:
  net::asio::steady_timer timer_;
};

}  // namespace muster::launch
