// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls places in turn until one answers, and again whenever the connection breaks. Names are
// resolved off the control thread (Asio's resolver has a thread for it), at every attempt: one that
// resolves late, or anew, is found. Numeric addresses wait for no name. Control thread only.

#include "rendezvous/net/control_connection.hpp"

#include <cstdint>
#include <vector>

namespace muster::net {

struct Place {
  std::string host;  // a name or a numeric address
  std::uint16_t port = 0;
  friend bool operator==(Place const&, Place const&) = default;
};
std::string to_text(Place const& place);

// Why a name has no address: not_found where it is known not to exist, timeout where nobody could
// be asked (no answer from the name server).
Error unresolved(std::string const& host, error_code const& ec);

class Dialer {
 public:
  struct Callbacks {
    // It has greeted and, where that is asked, proven itself.
    std::function<void(ControlConnection::Ptr const&)> on_connected;
    std::function<void(control::Letter)> on_letter;
    std::function<void()> on_disconnected;  // after on_connected; calling again is under way
    // An attempt failed; the next place follows. The error says at which step.
    std::function<void(Error const&)> on_problem;
    // The peer speaks another version or another protocol, or asks for another token or certificate
    // than ours. The next place follows, unless this call stops it.
    std::function<void(Error const&)> on_refused;
  };

  // At least one place. `self` is a caller, whatever it says. The first attempt is made at once, a
  // further one after a pause.
  Dialer(asio::io_context& io, std::vector<Place> places, ControlSide self, Callbacks callbacks);
  ~Dialer();
  Dialer(Dialer const&) = delete;
  Dialer& operator=(Dialer const&) = delete;

  void start();
  void stop();
  // Whom it is connected to is not who is looked for: hangs up and calls the next place.
  void skip();
  // The place that it is connected to, or calls.
  Place const& place() const;
  // How long a connection may stay without a greeting, which is a problem; and for how long all of
  // them may, one after another, until whoever listens is refused.
  void set_greeting_patience(Duration patience);
  void set_silence_patience(Duration patience);

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
