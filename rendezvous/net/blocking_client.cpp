// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/blocking_client.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/missing_keys.hpp"
#include "rendezvous/net/posix_stream.hpp"
#include "rendezvous/net/wire_keys.hpp"
#include "rendezvous/wire/encoder.hpp"
#include "rendezvous/wire/reply_decoder.hpp"

#include <algorithm>
#include <utility>

namespace muster::net {
namespace {

// After a wait timed out its cancellation must be answered at once, or the server is gone.
constexpr std::chrono::seconds kCancelPatience{5};
// Finding out which keys are missing is a courtesy; it may not double a time-out.
constexpr std::chrono::seconds kAskPatience{1};
constexpr std::size_t kKeysAskedMax = 64;
constexpr std::chrono::milliseconds kPopPause{5};

Error no_longer_usable() {
  return Error{Errc::closed, "the connection was closed after an earlier error", "connect again"};
}

}  // namespace

struct BlockingClient::Body {
  explicit Body(PosixStream connected) : stream(std::move(connected)) {}

  Result<void> send(wire::Request const& request, Deadline deadline);
  // The reply's views are good until the next call.
  Result<wire::Reply> receive(wire::Opcode asked, std::uint64_t keys, Deadline deadline);
  Result<wire::Reply> ask(wire::Request const& request, std::uint64_t keys, Deadline deadline);
  // WAIT or BARRIER: on a time-out the wait is cancelled and the connection stays usable.
  Result<bool> ask_patiently(wire::Request const& request, Deadline deadline);
  Result<bool> cancel(wire::Opcode asked);
  Result<void> wait(std::span<std::string const> keys, Deadline deadline);
  std::vector<std::string> missing_of(std::span<std::string const> keys);
  Error fail(Error error) {
    stream.close();
    return error;
  }

  PosixStream stream;
  std::string out, input;
  std::size_t consumed = 0;  // of input, by the last reply
};

Result<void> BlockingClient::Body::send(wire::Request const& request, Deadline deadline) {
  if (!stream.is_open()) return no_longer_usable();
  out.clear();
  wire::encode(request, out);
  if (auto sent = stream.write_all(out, deadline); !sent) return fail(sent.error());
  return ok();
}

Result<wire::Reply> BlockingClient::Body::receive(wire::Opcode asked, std::uint64_t keys,
                                                  Deadline deadline) {
  input.erase(0, std::exchange(consumed, 0));
  wire::ReplyDecoder decoder;
  while (true) {
    auto const found = decoder.next(asked, keys, input);
    if (!found) return fail(found.error());
    if (found->has_value()) {
      consumed = (*found)->consumed;
      return (*found)->message;
    }
    MUSTER_CHECK(stream.read_some(input, deadline));
  }
}

Result<wire::Reply> BlockingClient::Body::ask(wire::Request const& request, std::uint64_t keys,
                                              Deadline deadline) {
  MUSTER_CHECK(send(request, deadline));
  auto reply = receive(wire::opcode_of(request), keys, deadline);
  if (!reply) return fail(reply.error());
  return reply;
}

Result<bool> BlockingClient::Body::ask_patiently(wire::Request const& request, Deadline deadline) {
  MUSTER_CHECK(send(request, deadline));
  auto const asked = wire::opcode_of(request);
  auto const reply = receive(asked, 0, deadline);
  if (reply) return true;
  if (reply.error().code != Errc::timeout) return fail(reply.error());
  return cancel(asked);
}

// False: cancelled. True: the wait ended while its cancellation was on the way, so two bytes come.
Result<bool> BlockingClient::Body::cancel(wire::Opcode asked) {
  auto const deadline = deadline_in(kCancelPatience);
  MUSTER_CHECK(send(wire::CancelWait{}, deadline));
  bool ended = false;
  while (true) {
    auto const reply = receive(asked, 0, deadline);
    if (!reply) return fail(reply.error());
    if (reply->number == wire::kWaitCanceled) return ended;
    ended = true;
  }
}

Result<void> BlockingClient::Body::wait(std::span<std::string const> keys, Deadline deadline) {
  std::string storage;
  auto const list = encode_wire_keys(keys, storage);
  auto const began = now();
  MUSTER_TRY(bool const came, ask_patiently(wire::Wait{list}, deadline));
  if (came) return ok();
  return missing_keys_error(missing_of(keys), keys.size(), now() - began, stream.peer());
}

// Those of the keys that the store does not hold now; all where there is no telling.
std::vector<std::string> BlockingClient::Body::missing_of(std::span<std::string const> keys) {
  std::vector<std::string> missing;
  auto const deadline = deadline_in(kAskPatience);
  for (auto const& key : keys.first(std::min(keys.size(), kKeysAskedMax))) {
    std::string storage;
    auto const list = encode_wire_keys({&key, 1}, storage);
    auto const reply = ask(wire::Check{list}, 0, deadline);
    if (!reply || reply->number != wire::kReady) missing.push_back(key);
  }
  return missing;
}

BlockingClient::BlockingClient(std::unique_ptr<Body> body) : body_(std::move(body)) {}
BlockingClient::BlockingClient(BlockingClient&&) noexcept = default;
BlockingClient& BlockingClient::operator=(BlockingClient&&) noexcept = default;
BlockingClient::~BlockingClient() = default;

Result<BlockingClient> BlockingClient::connect(std::string host, std::uint16_t port,
                                               Deadline deadline) {
  MUSTER_TRY(auto stream, PosixStream::connect(host, port, deadline));
  auto body = std::make_unique<Body>(std::move(stream));
  // In one write: upstream's server closes a connection whose VALIDATE comes in two segments.
  MUSTER_CHECK(body->send(wire::Validate{}, deadline));
  return BlockingClient(std::move(body));
}

Result<void> BlockingClient::set(std::string_view key, std::string_view value, Deadline deadline) {
  auto const name = wire_key(key);
  return body_->send(wire::Set{name, value}, deadline);
}

Result<std::string> BlockingClient::get(std::string_view key, Deadline deadline) {
  std::string const user_key(key);
  MUSTER_CHECK(body_->wait({&user_key, 1}, deadline));
  auto const name = wire_key(key);
  MUSTER_TRY(auto const reply, body_->ask(wire::Get{name}, 0, deadline));
  return std::string(reply.value);
}

Result<std::int64_t> BlockingClient::add(std::string_view key, std::int64_t amount,
                                         Deadline deadline) {
  auto const name = wire_key(key);
  wire::Add const request{name, amount};
  MUSTER_TRY(auto const reply, body_->ask(request, 0, deadline));
  return reply.number;
}

Result<std::string> BlockingClient::compare_set(std::string_view key, std::string_view expected,
                                                std::string_view desired, Deadline deadline) {
  auto const name = wire_key(key);
  wire::CompareSet const request{name, expected, desired};
  MUSTER_TRY(auto const reply, body_->ask(request, 0, deadline));
  return std::string(reply.value);
}

Result<bool> BlockingClient::check(std::span<std::string const> keys, Deadline deadline) {
  std::string storage;
  auto const list = encode_wire_keys(keys, storage);
  MUSTER_TRY(auto const reply, body_->ask(wire::Check{list}, 0, deadline));
  return reply.number == wire::kReady;
}

Result<void> BlockingClient::wait(std::span<std::string const> keys, Deadline deadline) {
  return body_->wait(keys, deadline);
}

Result<std::vector<std::string>> BlockingClient::multi_get(std::span<std::string const> keys,
                                                           Deadline deadline) {
  MUSTER_CHECK(body_->wait(keys, deadline));
  std::string storage;
  auto const list = encode_wire_keys(keys, storage);
  MUSTER_TRY(auto const reply, body_->ask(wire::MultiGet{list}, keys.size(), deadline));
  std::vector<std::string> values;
  reply.list.all_of([&](std::string_view value) {
    values.emplace_back(value);
    return true;
  });
  return values;
}

Result<void> BlockingClient::multi_set(std::span<std::string const> keys,
                                       std::span<std::string const> values, Deadline deadline) {
  if (keys.size() != values.size())
    return Error{Errc::bad_input,
                 "multi_set with " + std::to_string(keys.size()) + " keys and " +
                     std::to_string(values.size()) + " values",
                 {}};
  std::string storage;
  auto const list = encode_wire_pairs(keys, values, storage);
  return body_->send(wire::MultiSet{list}, deadline);
}

Result<void> BlockingClient::append(std::string_view key, std::string_view value,
                                    Deadline deadline) {
  auto const name = wire_key(key);
  return body_->send(wire::Append{name, value}, deadline);
}

Result<bool> BlockingClient::delete_key(std::string_view key, Deadline deadline) {
  auto const name = wire_key(key);
  MUSTER_TRY(auto const reply, body_->ask(wire::DeleteKey{name}, 0, deadline));
  return reply.number > 0;
}

Result<std::int64_t> BlockingClient::num_keys(Deadline deadline) {
  MUSTER_TRY(auto const reply, body_->ask(wire::GetNumKeys{}, 0, deadline));
  return reply.number;
}

Result<std::vector<std::string>> BlockingClient::list_keys(Deadline deadline) {
  MUSTER_TRY(auto const reply, body_->ask(wire::ListKeys{}, 0, deadline));
  return user_keys(reply.list);
}

Result<void> BlockingClient::queue_push(std::string_view key, std::string_view value,
                                        Deadline deadline) {
  auto const name = wire_key(key);
  return body_->send(wire::QueuePush{name, value}, deadline);
}

Result<std::string> BlockingClient::queue_pop(std::string_view key, Deadline deadline) {
  std::string const user_key(key);
  auto const name = wire_key(key);
  while (true) {
    MUSTER_CHECK(body_->wait({&user_key, 1}, deadline));
    MUSTER_TRY(auto const reply, body_->ask(wire::QueuePop{name}, 0, deadline));
    if (reply.number > 0) return std::string(reply.value);
    // Another client was quicker. A plain key of that name ends the wait too: then look again
    // after a moment instead of as fast as possible.
    if (deadline.passed(now())) {
      auto const missing = std::vector<std::string>{user_key};
      return missing_keys_error(missing, 1, Duration::zero(), body_->stream.peer());
    }
    auto const pause = std::min<Duration>(kPopPause, deadline.left(now()));
    sleep_for(pause);
  }
}

Result<std::int64_t> BlockingClient::queue_len(std::string_view key, Deadline deadline) {
  auto const name = wire_key(key);
  MUSTER_TRY(auto const reply, body_->ask(wire::QueueLen{name}, 0, deadline));
  return reply.number;
}

Result<void> BlockingClient::barrier(std::string_view key, std::int64_t world_size,
                                     Deadline deadline) {
  auto const name = wire_key(key);
  wire::Barrier const request{name, world_size};
  MUSTER_TRY(bool const passed, body_->ask_patiently(request, deadline));
  if (passed) return ok();
  auto const arrived = body_->ask(wire::Get{name}, 0, deadline_in(kAskPatience));
  return Error{Errc::timeout,
               "barrier '" + std::string(key) + "': " +
                   (arrived ? std::string(arrived->value) : std::string("an unknown number")) +
                   " of " + std::to_string(world_size) + " arrived before the deadline",
               {}};
}

std::string BlockingClient::local_address() const {
  return body_->stream.local_address();
}

}  // namespace muster::net
