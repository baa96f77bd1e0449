// SPDX-License-Identifier: Apache-2.0
#pragma once
// The connection of a StoreClient: requests out in their order, replies matched to them in theirs.
// Callbacks below, one coroutine (ask) above. Kept alive by its client and its pending handlers.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/net/asio.hpp"
#include "rendezvous/wire/reply_decoder.hpp"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::net {

// A reply that owns what it says.
struct StoreReply {
  std::int64_t number = 0;
  std::string value;
  std::vector<std::string> list;
};

class StoreConnection {
 public:
  using Ptr = std::shared_ptr<StoreConnection>;

  explicit StoreConnection(asio::io_context& io) : socket_(io) {}

  static asio::awaitable<Result<void>> connect(Ptr self, std::string host, std::uint16_t port,
                                               Deadline deadline);
  // The reply of an encoded request. Requests without one are done once the kernel has them. A
  // WAIT or BARRIER that times out is cancelled, and Errc::timeout is its result.
  static asio::awaitable<Result<StoreReply>> ask(Ptr self, std::string request, std::uint64_t keys,
                                                 Deadline deadline);
  // Ends all that is pending with this error.
  void fail(Error error);
  bool is_open() const { return socket_.is_open(); }
  std::string const& peer() const { return peer_; }
  std::string local_address() const;

 private:
  struct Call {
    Call(asio::any_io_executor executor, std::string bytes_, std::uint64_t keys_)
        : bytes(std::move(bytes_)), keys(keys_), done(executor) {}
    wire::Opcode opcode() const { return static_cast<wire::Opcode>(bytes.front()); }
    bool is_patient() const;
    bool has_reply() const;

    std::string bytes;
    std::uint64_t keys;
    asio::steady_timer done;  // its deadline, and cancelled when there is a result
    std::optional<Result<StoreReply>> result;
    bool cancelling = false;
  };
  using CallPtr = std::shared_ptr<Call>;

  void finish(Call& call, Result<StoreReply> result);
  void give_up(CallPtr const& call);
  void pump(Ptr const& self);
  static void write(Ptr const& self);
  static void read(Ptr const& self);
  void take_replies();
  bool take_reply(Call& call, wire::Reply const& reply);

  tcp::socket socket_;
  std::string peer_ = "(not connected)";
  std::optional<Error> failure_;
  std::deque<CallPtr> queued_;                         // not sent yet
  std::deque<CallPtr> in_flight_;                      // sent, reply owed
  std::string next_out_, out_;                         // out_ is being written
  std::vector<CallPtr> unanswered_next_, unanswered_;  // done once next_out_, out_ are written
  bool writing_ = false;
  std::string input_;
  wire::ReplyDecoder decoder_;
  std::array<char, 4096> chunk_;
};

}  // namespace muster::net
