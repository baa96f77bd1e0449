// SPDX-License-Identifier: Apache-2.0
#pragma once
// One control connection, either side: greetings, then letters both ways. Callbacks on the
// io_context's thread, never from inside a call. Lives as long as somebody holds it or a read or
// write is pending; after close() no callback comes.

#include "rendezvous/control/codec.hpp"
#include "rendezvous/control/frame.hpp"
#include "rendezvous/net/asio.hpp"

#include <functional>
#include <memory>
#include <string>

namespace muster::net {

// An address without what only the socket layer needs: "10.0.0.1" for "::ffff:10.0.0.1".
std::string numeric_address(tcp::endpoint const& endpoint);

class ControlConnection {
 public:
  using Ptr = std::shared_ptr<ControlConnection>;
  struct Callbacks {
    std::function<void()> on_greeted;  // the peer speaks our protocol
    std::function<void(control::Letter)> on_letter;
    // Once, unless close() was called. Errc::closed and unreachable: the way is broken, call again.
    // refused: the peer's version. protocol, limit: it does not speak our protocol.
    std::function<void(Error const&)> on_end;
  };

  ControlConnection(tcp::socket socket, std::string self_name);

  // `already_read` are bytes that the peer has sent before, from its greeting on.
  static void start(Ptr const& self, std::string const& already_read, Callbacks callbacks);
  static void send(Ptr const& self, control::Letter letter);
  // Hangs up once everything is sent: waits a moment for the peer to do so too, since a close with
  // bytes unread would take back what was sent. No callback comes any more.
  static void finish(Ptr const& self);
  void close();

  bool is_open() const { return !closed_; }
  bool greeted() const { return greeted_; }
  std::string const& peer_address() const { return peer_; }
  std::string const& local_address() const { return local_; }

 private:
  static void read(Ptr const& self);
  static void write(Ptr const& self);
  static void deliver(Ptr const& self);
  static void end(Ptr const& self, Error error);
  static void hang_up(Ptr const& self);
  bool take_greeting(Ptr const& self);

  tcp::socket socket_;
  asio::steady_timer linger_;
  std::string self_name_, peer_, local_;
  Callbacks callbacks_;
  std::string greeting_in_;  // until it is whole
  control::FrameReader reader_;
  std::string out_, sending_;
  std::string chunk_;
  bool greeted_ = false, closed_ = false, finishing_ = false, writing_ = false;
};

}  // namespace muster::net
