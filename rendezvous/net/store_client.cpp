// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/store_client.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/missing_keys.hpp"
#include "rendezvous/net/store_connection.hpp"
#include "rendezvous/net/wire_keys.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <algorithm>

namespace muster::net {
namespace {

template <class T>
using Task = StoreClient::Task<T>;
using Connection = StoreConnection::Ptr;

// Finding out which keys are missing is a courtesy; it may not double a time-out.
constexpr std::chrono::seconds kAskPatience{1};
constexpr std::size_t kKeysAskedMax = 64;
constexpr std::chrono::milliseconds kPopPause{5};

std::string encoded(wire::Request const& request) {
  std::string out;
  wire::encode(request, out);
  return out;
}

template <class T>
std::string over_keys(std::vector<std::string> const& keys) {
  std::string storage;
  return encoded(T{encode_wire_keys(keys, storage)});
}

Task<void> ask_nothing(Connection connection, std::string request, Deadline deadline) {
  auto const reply =
      co_await StoreConnection::ask(std::move(connection), std::move(request), 0, deadline);
  if (!reply) co_return reply.error();
  co_return ok();
}

Task<std::int64_t> ask_number(Connection connection, std::string request, Deadline deadline) {
  auto const reply =
      co_await StoreConnection::ask(std::move(connection), std::move(request), 0, deadline);
  if (!reply) co_return reply.error();
  co_return reply->number;
}

Task<std::string> ask_value(Connection connection, std::string request, Deadline deadline) {
  auto reply =
      co_await StoreConnection::ask(std::move(connection), std::move(request), 0, deadline);
  if (!reply) co_return reply.error();
  co_return std::move(reply->value);
}

Task<std::vector<std::string>> ask_list(Connection connection, std::string request,
                                        std::uint64_t keys, Deadline deadline) {
  auto reply =
      co_await StoreConnection::ask(std::move(connection), std::move(request), keys, deadline);
  if (!reply) co_return reply.error();
  co_return std::move(reply->list);
}

Task<void> wait_for(Connection connection, std::vector<std::string> keys, Deadline deadline) {
  auto const began = now();
  auto request = over_keys<wire::Wait>(keys);
  auto const reply = co_await StoreConnection::ask(connection, std::move(request), 0, deadline);
  if (reply) co_return ok();
  if (reply.error().code != Errc::timeout || !connection->is_open()) co_return reply.error();
  auto const waited = now() - began;
  auto const asking = deadline_in(kAskPatience);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < std::min(keys.size(), kKeysAskedMax); ++i) {
    std::vector<std::string> const one(1, keys[i]);
    auto check = over_keys<wire::Check>(one);
    auto const there = co_await ask_number(connection, std::move(check), asking);
    if (!there || *there != wire::kReady) missing.push_back(keys[i]);
  }
  co_return missing_keys_error(missing, keys.size(), waited, connection->peer());
}

}  // namespace

StoreClient::StoreClient(asio::io_context& io)
    : connection_(std::make_shared<StoreConnection>(io)) {}

StoreClient::~StoreClient() {
  close();
}

Task<void> StoreClient::connect(std::string host, std::uint16_t port, Deadline deadline) {
  return StoreConnection::connect(connection_, std::move(host), port, deadline);
}

void StoreClient::close() {
  connection_->fail(Error{Errc::canceled, "the store client was closed", {}});
}

std::string StoreClient::local_address() const {
  return connection_->local_address();
}

Task<void> StoreClient::set(std::string key, std::string value, Deadline deadline) {
  auto const name = wire_key(key);
  return ask_nothing(connection_, encoded(wire::Set{name, value}), deadline);
}

Task<std::string> StoreClient::get(std::string key, Deadline deadline) {
  auto const connection = connection_;
  auto const name = wire_key(key);
  std::vector<std::string> keys;
  keys.push_back(std::move(key));
  auto const there = co_await wait_for(connection, std::move(keys), deadline);
  if (!there) co_return there.error();
  auto request = encoded(wire::Get{name});
  co_return co_await ask_value(connection, std::move(request), deadline);
}

Task<std::int64_t> StoreClient::add(std::string key, std::int64_t amount, Deadline deadline) {
  auto const name = wire_key(key);
  return ask_number(connection_, encoded(wire::Add{name, amount}), deadline);
}

Task<std::string> StoreClient::compare_set(std::string key, std::string expected,
                                           std::string desired, Deadline deadline) {
  auto const name = wire_key(key);
  return ask_value(connection_, encoded(wire::CompareSet{name, expected, desired}), deadline);
}

Task<bool> StoreClient::check(std::vector<std::string> keys, Deadline deadline) {
  auto const connection = connection_;
  auto request = over_keys<wire::Check>(keys);
  auto const answer = co_await ask_number(connection, std::move(request), deadline);
  if (!answer) co_return answer.error();
  co_return *answer == wire::kReady;
}

Task<void> StoreClient::wait(std::vector<std::string> keys, Deadline deadline) {
  return wait_for(connection_, std::move(keys), deadline);
}

Task<std::vector<std::string>> StoreClient::multi_get(std::vector<std::string> keys,
                                                      Deadline deadline) {
  auto const connection = connection_;
  auto request = over_keys<wire::MultiGet>(keys);
  auto const count = keys.size();
  auto const there = co_await wait_for(connection, std::move(keys), deadline);
  if (!there) co_return there.error();
  co_return co_await ask_list(connection, std::move(request), count, deadline);
}

Task<void> StoreClient::multi_set(std::vector<std::string> keys, std::vector<std::string> values,
                                  Deadline deadline) {
  auto const connection = connection_;
  if (keys.size() != values.size())
    co_return Error{Errc::bad_input,
                    "multi_set with " + std::to_string(keys.size()) + " keys and " +
                        std::to_string(values.size()) + " values",
                    {}};
  std::string storage;
  auto const pairs = encode_wire_pairs(keys, values, storage);
  auto request = encoded(wire::MultiSet{pairs});
  co_return co_await ask_nothing(connection, std::move(request), deadline);
}

Task<void> StoreClient::append(std::string key, std::string value, Deadline deadline) {
  auto const name = wire_key(key);
  return ask_nothing(connection_, encoded(wire::Append{name, value}), deadline);
}

Task<bool> StoreClient::delete_key(std::string key, Deadline deadline) {
  auto const connection = connection_;
  auto const name = wire_key(key);
  auto request = encoded(wire::DeleteKey{name});
  auto const count = co_await ask_number(connection, std::move(request), deadline);
  if (!count) co_return count.error();
  co_return *count > 0;
}

Task<std::int64_t> StoreClient::num_keys(Deadline deadline) {
  return ask_number(connection_, encoded(wire::GetNumKeys{}), deadline);
}

Task<std::vector<std::string>> StoreClient::list_keys(Deadline deadline) {
  auto const connection = connection_;
  auto request = encoded(wire::ListKeys{});
  auto const names = co_await ask_list(connection, std::move(request), 0, deadline);
  if (!names) co_return names.error();
  co_return without_slash(*names);
}

Task<void> StoreClient::queue_push(std::string key, std::string value, Deadline deadline) {
  auto const name = wire_key(key);
  return ask_nothing(connection_, encoded(wire::QueuePush{name, value}), deadline);
}

Task<std::string> StoreClient::queue_pop(std::string key, Deadline deadline) {
  auto const connection = connection_;
  auto const name = wire_key(key);
  std::vector<std::string> const keys(1, key);
  auto const executor = co_await asio::this_coro::executor;
  asio::steady_timer pause(executor);
  while (true) {
    auto const there = co_await wait_for(connection, keys, deadline);
    if (!there) co_return there.error();
    auto request = encoded(wire::QueuePop{name});
    auto reply = co_await StoreConnection::ask(connection, std::move(request), 0, deadline);
    if (!reply) co_return reply.error();
    if (reply->number > 0) co_return std::move(reply->value);
    // Another client was quicker, or a plain key of that name exists: look again in a moment.
    if (deadline.passed(now()))
      co_return missing_keys_error(keys, 1, Duration::zero(), connection->peer());
    pause.expires_after(kPopPause);
    co_await pause.async_wait(kAwait);
  }
}

Task<std::int64_t> StoreClient::queue_len(std::string key, Deadline deadline) {
  auto const name = wire_key(key);
  return ask_number(connection_, encoded(wire::QueueLen{name}), deadline);
}

Task<void> StoreClient::barrier(std::string key, std::int64_t world_size, Deadline deadline) {
  auto const name = wire_key(key);
  return ask_nothing(connection_, encoded(wire::Barrier{name, world_size}), deadline);
}

}  // namespace muster::net
