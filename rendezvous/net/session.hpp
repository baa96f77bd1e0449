// SPDX-License-Identifier: Apache-2.0
#pragma once
// One connection: greeting, then bytes to the decoder, requests to the engine, replies back, many
// at a time in one write. Callbacks rather than a coroutine: this is the store's hot path, and a
// session that waits is two pointers in a handler. A client that does not read its replies is not
// read either, until it does. Lives as long as its hub lists it or one of its handlers is pending;
// the static functions take the pointer that keeps it alive.

#include "rendezvous/base/ids.hpp"
#include "rendezvous/net/asio.hpp"
#include "rendezvous/wire/decoder.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace muster::net {

struct Hub;

class Session {
 public:
  using Ptr = std::shared_ptr<Session>;

  Session(std::shared_ptr<Hub> hub, tcp::socket socket, ClientId id);

  static void start(Ptr const& self) { await_input(self); }
  // Sends what is owed, as far as the socket takes it.
  static void flush(Ptr const& self);
  // Closes as soon as nothing is owed, and reads no more.
  static void finish(Ptr const& self);

  // One wake-up byte, sent by the next flush.
  void owe(char byte) { out_.push_back(byte); }
  void close();
  // Closes with a complaint.
  void reject_late();
  bool greeted() const { return greeted_; }
  ClientId id() const { return id_; }

 private:
  static void await_input(Ptr const& self);
  static void on_input(Ptr const& self, error_code const& ec, std::size_t count);
  static void read_rest(Ptr const& self);
  static void take_in(Ptr const& self, std::string_view bytes);
  static void on_writable(Ptr const& self, error_code const& ec);
  static void proceed(Ptr const& self);

  // Carries out the requests in `bytes`; how many bytes they were.
  std::size_t process(Ptr const& self, std::string_view bytes);
  bool serve(wire::Request const& request);
  void wake_others(std::size_t reply_begin);
  bool greet();
  void hand_over(std::function<void(tcp::socket, std::string)> const& taker);
  void reject(Error const& error);
  bool is_full() const;
  std::string peer() const;

  std::shared_ptr<Hub> hub_;
  tcp::socket socket_;
  ClientId id_;
  wire::RequestDecoder decoder_;
  std::string input_;  // begins at a request (or the greeting) that is not complete or not due yet
  std::string out_;
  std::size_t sent_ = 0;  // of out_
  bool greeted_ = false;
  bool writing_ = false;    // a wait for writability is pending
  bool paused_ = false;     // not read until it reads
  bool finishing_ = false;  // to be closed once nothing is owed
  bool closed_ = false;
  std::array<char, 2048> chunk_;
};

}  // namespace muster::net
