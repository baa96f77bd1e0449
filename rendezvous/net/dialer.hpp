// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls a control endpoint until it answers, and again whenever the connection breaks. Names are
// resolved off the control thread (Asio's resolver has a thread for it), at every attempt: one that
// resolves late, or anew, is found. Control thread only.

#include "rendezvous/net/control_connection.hpp"

#include <cstdint>

namespace muster::net {

// Why a name has no address: not_found where it is known not to exist, timeout where nobody could
// be asked (no answer from the name server).
Error unresolved(std::string const& host, error_code const& ec);

class Dialer {
 public:
  struct Callbacks {
    std::function<void(ControlConnection::Ptr const&)> on_connected;  // it has greeted
    std::function<void(control::Letter)> on_letter;
    std::function<void()> on_disconnected;  // after on_connected; calling again is under way
    // An attempt failed; the next one follows. The error says at which step.
    std::function<void(Error const&)> on_problem;
    // The peer speaks another version or another protocol: nothing follows.
    std::function<void(Error const&)> on_refused;
  };

  Dialer(asio::io_context& io, std::string host, std::uint16_t port, std::string self_name,
         Callbacks callbacks);
  ~Dialer();
  Dialer(Dialer const&) = delete;
  Dialer& operator=(Dialer const&) = delete;

  void start();
  void stop();
  // How long a connection may stay without a greeting.
  void set_greeting_patience(Duration patience);

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
