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
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace muster::net {

struct Hub;

class Session {
 public:
  using Ptr = std::shared_ptr<Session>;

  Session(std::shared_ptr<Hub> hub, tcp::socket socket, ClientId id, tcp::endpoint peer);

  static void start(Ptr const& self);
  // Takes what has arrived, without waiting for its turn.
  static void look(Ptr const& self) { read_rest(self); }
  // It was not read while requests held too much memory, and may be read on.
  static void resume(Ptr const& self);
  // Sends what is owed, as far as the socket takes it.
  static void flush(Ptr const& self);
  // Closes as soon as nothing is owed, and reads no more.
  static void finish(Ptr const& self);

  // One wake-up byte, sent by the next flush.
  void owe(char byte) { out_.push_back(byte); }
  void close();
  // Each closes with a complaint.
  void reject_late();
  void reject_crowded();
  void reject_slow();
  bool greeted() const { return greeted_; }
  // Greeted, and nothing of a request is here.
  bool is_idle() const { return greeted_ && input_.empty(); }
  ClientId id() const { return id_; }

 private:
  static void await_input(Ptr const& self);
  static void on_first_bytes(Ptr const& self, error_code const& ec);
  static void on_input(Ptr const& self, error_code const& ec, std::size_t count);
  static void read_rest(Ptr const& self);
  static void take_in(Ptr const& self, std::string_view bytes);
  static void on_writable(Ptr const& self, error_code const& ec);
  static void proceed(Ptr const& self);

  // Carries out the requests in `bytes`; how many bytes they were.
  std::size_t process(Ptr const& self, std::string_view bytes);
  bool serve(wire::Request const& request);
  void wake_others(std::size_t reply_begin);
  void tell_written();
  void account();
  bool greet();
  bool greet_store();
  void hand_over(std::function<void(tcp::socket, std::string)> const& taker);
  void reject(Error const& error);
  bool is_full() const;
  bool is_read() const { return !closed_ && !paused_ && !finishing_ && !held_back_; }

  std::shared_ptr<Hub> hub_;
  tcp::socket socket_;
  ClientId id_;
  tcp::endpoint peer_;
  wire::RequestDecoder decoder_;
  std::string input_;  // begins at a request (or the greeting) that is not complete or not due yet
  std::string out_;
  std::size_t sent_ = 0;  // of out_
  bool greeted_ = false;
  bool settled_ = false;    // a first whole request has come
  bool reading_ = false;    // a read, or a wait for one, is pending
  bool writing_ = false;    // a wait for writability is pending
  bool paused_ = false;     // not read until it reads
  bool budgeted_ = false;   // the hub's budget knows of our request
  bool held_back_ = false;  // not read until that budget has room
  bool finishing_ = false;  // to be closed once nothing is owed
  bool closed_ = false;
  std::array<char, 2048> chunk_;
};

}  // namespace muster::net
