// SPDX-License-Identifier: Apache-2.0
#pragma once
// One control connection, either side: TLS and the opening (control/handshake_step.hpp), then
// letters both ways. Callbacks on the io_context's thread, never from inside a call. Lives as long
// as somebody holds it or a read or write is pending; after close() no callback comes.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/unique_fd.hpp"
#include "rendezvous/control/codec.hpp"
#include "rendezvous/control/frame.hpp"
#include "rendezvous/control/frame_seal.hpp"
#include "rendezvous/control/handshake_step.hpp"
#include "rendezvous/net/asio.hpp"
#include "rendezvous/net/security.hpp"

#include <functional>
#include <memory>
#include <string>

namespace muster::net {

// An address without what only the socket layer needs: "10.0.0.1" for "::ffff:10.0.0.1".
std::string numeric_address(tcp::endpoint const& endpoint);

// What this end says of itself, and what it asks for. A mere name: the end that was called, which
// asks for nothing.
struct ControlSide {
  ControlSide(std::string machine) : name(std::move(machine)) {}
  ControlSide(char const* machine) : name(machine) {}

  std::string name;  // of this machine, for people
  control::Role role = control::Role::host;
  std::string run_id;  // a caller's job
  Epoch epoch;         // the latest that is known
  Security::Ptr security;
};

// Where a connection counts, for as long as its socket is open.
class ControlPlace {
 public:
  virtual ~ControlPlace() = default;
  // Its first letter has come: there is time for everything else.
  virtual void settle() = 0;
  // It holds so many bytes of a letter that is not whole.
  virtual void holds(std::size_t bytes) = 0;
  // Its step of a TLS handshake, which costs as much as hundreds of letters: to be called later,
  // when others had their turn.
  virtual void when_due(std::function<void()> step) = 0;
};

// For a peer that does not read the last that it is sent.
inline constexpr Duration kSendPatience = std::chrono::seconds{5};

class ControlConnection {
 public:
  using Ptr = std::shared_ptr<ControlConnection>;
  struct Callbacks {
    std::function<void()> on_greeted;  // the peer speaks our protocol, and has proven itself
    std::function<void(control::Letter)> on_letter;
    // Once, unless close() was called. Errc::closed and unreachable: the way is broken, call again.
    // refused: the peer's version, token or certificate. protocol, limit: it does not speak our
    // protocol. fault() says which.
    std::function<void(Error const&)> on_end;
  };

  ControlConnection(tcp::socket socket, ControlSide side);

  // `already_read` are bytes that the peer has sent before, from its greeting on.
  static void start(Ptr const& self, std::string const& already_read, Callbacks callbacks);
  // What is sent before the peer has greeted waits until it has.
  static void send(Ptr const& self, control::Letter const& letter);
  // Calls once, when everything that was sent so far has left, unless the connection ends before.
  static void when_sent(Ptr const& self, std::function<void()> call);
  // Calls once when the connection is closed, whoever closes it, also after finish().
  static void when_closed(Ptr const& self, std::function<void()> call);
  // Hangs up once everything is sent, and closes if the peer does not read it within `patience`:
  // waits a moment for the peer to hang up too, since a close with bytes unread would take back
  // what was sent. No callback comes any more.
  static void finish(Ptr const& self, Duration patience = kSendPatience);
  // Closes at once and says so by on_end, later.
  static void give_up(Ptr const& self, Error error, control::Fault fault);
  void close();

  // Gives the socket away, with the bytes of a last letter for whoever has it to write: from
  // on_greeted on, while nothing is being sent. No callback comes any more.
  struct Parting {
    UniqueFd socket;
    std::string bytes;
  };
  static Result<Parting> part(Ptr const& self, control::Letter const& last);

  bool is_open() const { return !closed_; }
  bool greeted() const { return greeted_; }
  std::string const& peer_address() const { return handshake_.peer_address; }
  std::string const& local_address() const { return local_; }
  control::Fault fault() const { return fault_; }
  void set_place(std::shared_ptr<ControlPlace> place) { place_ = std::move(place); }
  void settle() const {
    if (place_) place_->settle();
  }

 private:
  void fit_chunk();
  static void read(Ptr const& self);
  static void write(Ptr const& self);
  static void tell_sent(Ptr const& self);
  void tell_closed();
  static void say(Ptr const& self, std::string_view plain);
  static void send_body(Ptr const& self, std::string body);
  static void take_in(Ptr const& self, std::string_view bytes);
  static void arrived(Ptr const& self, std::string_view bytes);
  bool is_costly(std::string_view bytes) const;
  static bool choose_layer(Ptr const& self, char first);
  static void shake_hands(Ptr const& self, std::string_view plain);
  static void greet(Ptr const& self);
  static void deliver(Ptr const& self);
  static void end(Ptr const& self, Error error, control::Fault fault = control::Fault::none);
  static void refuse(Ptr const& self, Error error, control::Fault fault);
  static void hang_up(Ptr const& self);
  static void close_after(Ptr const& self, Duration patience);
  std::string seal(std::string_view body) const;
  Result<control::Letter> open(std::string body);

  tcp::socket socket_;
  asio::steady_timer linger_;
  std::string local_;
  Callbacks callbacks_;
  std::function<void()> on_sent_, on_closed_;
  Security::Ptr security_;
  std::unique_ptr<TlsSession> tls_;
  control::Handshake handshake_;
  std::optional<control::FrameSeal> sends_, receives_;  // with a token
  control::FrameReader reader_;
  std::vector<std::string> early_;  // bodies of letters, until the peer has greeted
  std::size_t early_bytes_ = 0;
  std::string out_, sending_;
  std::string chunk_;
  std::shared_ptr<ControlPlace> place_;
  control::Fault fault_ = control::Fault::none;
  bool chunk_was_full_ = false;
  bool layered_ = false;  // plain or TLS: the first byte has told
  bool greeted_ = false, closed_ = false, refused_ = false, finishing_ = false, writing_ = false;
};

}  // namespace muster::net
