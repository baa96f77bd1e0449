// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/store_connection.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <algorithm>
#include <utility>

namespace muster::net {
namespace {

constexpr std::chrono::seconds kCancelPatience{5};
constexpr std::chrono::hours kLongestTimer{24 * 365};  // "never", without overflow

void arm(asio::steady_timer& timer, Deadline deadline) {
  timer.expires_after(std::min<Duration>(deadline.left(now()), kLongestTimer));
}

StoreReply own(wire::Reply const& reply) {
  StoreReply owned{reply.number, std::string(reply.value), {}};
  reply.list.all_of([&](std::string_view item) {
    owned.list.emplace_back(item);
    return true;
  });
  return owned;
}

Error late(std::string const& peer, wire::Opcode opcode) {
  return Error{Errc::timeout,
               "store " + peer + ": no answer to " + std::string(wire::name_of(opcode)) +
                   " before the deadline",
               {}};
}

}  // namespace

bool StoreConnection::Call::is_patient() const {
  return opcode() == wire::Opcode::wait || opcode() == wire::Opcode::barrier;
}

bool StoreConnection::Call::has_reply() const {
  switch (opcode()) {
    case wire::Opcode::validate:
    case wire::Opcode::set:
    case wire::Opcode::append:
    case wire::Opcode::multi_set:
    case wire::Opcode::queue_push:
      return false;
    case wire::Opcode::compare_set:
    case wire::Opcode::get:
    case wire::Opcode::add:
    case wire::Opcode::check:
    case wire::Opcode::wait:
    case wire::Opcode::get_num_keys:
    case wire::Opcode::delete_key:
    case wire::Opcode::multi_get:
    case wire::Opcode::cancel_wait:
    case wire::Opcode::ping:
    case wire::Opcode::queue_pop:
    case wire::Opcode::queue_len:
    case wire::Opcode::list_keys:
    case wire::Opcode::barrier:
      return true;
  }
  return true;
}

asio::awaitable<Result<void>> StoreConnection::connect(Ptr self, std::string host,
                                                       std::uint16_t port, Deadline deadline) {
  self->peer_ = host + ":" + std::to_string(port);
  asio::steady_timer timer(self->socket_.get_executor());
  tcp::resolver resolver(self->socket_.get_executor());
  bool timed_out = false;
  arm(timer, deadline);
  timer.async_wait([&](error_code const& ec) {
    if (ec) return;
    timed_out = true;
    resolver.cancel();
    error_code ignored;
    self->socket_.close(ignored);
  });
  auto const service = std::to_string(port);
  auto [lookup, found] = co_await resolver.async_resolve(host, service, kAwait);
  error_code ec = lookup;
  if (!ec && !timed_out) {
    auto [failed, endpoint] = co_await asio::async_connect(self->socket_, found, kAwait);
    ec = failed;
  }
  // The handler above refers to this frame: it must have run before the frame goes.
  timer.cancel();
  co_await asio::post(self->socket_.get_executor(), kAwait);
  if (timed_out)
    co_return Error{Errc::timeout, "cannot reach " + self->peer_ + " before the deadline", {}};
  if (ec) co_return from_asio(ec, "cannot reach " + self->peer_);
  close_on_exec(self->socket_.native_handle());
  self->socket_.set_option(tcp::no_delay(true), ec);
  self->socket_.set_option(asio::socket_base::keep_alive(true), ec);
  wire::encode(wire::Validate{}, self->next_out_);
  write(self);
  read(self);
  co_return ok();
}

asio::awaitable<Result<StoreReply>> StoreConnection::ask(Ptr self, std::string request,
                                                         std::uint64_t keys, Deadline deadline) {
  if (self->failure_) co_return *self->failure_;
  if (!self->is_open()) co_return Error{Errc::closed, "the store client is not connected", {}};
  auto const executor = self->socket_.get_executor();
  auto const call = std::make_shared<Call>(executor, std::move(request), keys);
  arm(call->done, deadline);
  self->queued_.push_back(call);
  self->pump(self);
  if (!call->result) co_await call->done.async_wait(kAwait);
  if (!call->result) {
    self->give_up(call);
    self->pump(self);
  }
  if (!call->result) co_await call->done.async_wait(kAwait);
  if (!call->result) {
    auto const error = late(self->peer_, call->opcode());
    self->fail(error);
  }
  co_return *std::move(call->result);
}

void StoreConnection::finish(Call& call, Result<StoreReply> result) {
  call.result = std::move(result);
  call.done.cancel();
}

// The call's deadline has passed.
void StoreConnection::give_up(CallPtr const& call) {
  auto const error = late(peer_, call->opcode());
  auto const queued = std::find(queued_.begin(), queued_.end(), call);
  if (queued != queued_.end()) {
    queued_.erase(queued);
    return finish(*call, error);
  }
  if (!call->is_patient()) return fail(error);
  call->cancelling = true;
  wire::encode(wire::CancelWait{}, next_out_);
  arm(call->done, deadline_in(kCancelPatience));
}

// Sends what may be sent now.
void StoreConnection::pump(Ptr const& self) {
  while (!queued_.empty()) {
    auto const& call = queued_.front();
    if (!in_flight_.empty() && (call->is_patient() || in_flight_.back()->is_patient())) break;
    next_out_.append(call->bytes);
    if (call->has_reply())
      in_flight_.push_back(call);
    else
      unanswered_next_.push_back(call);
    queued_.pop_front();
  }
  write(self);
}

void StoreConnection::write(Ptr const& self) {
  if (self->writing_ || self->next_out_.empty() || self->failure_) return;
  self->writing_ = true;
  self->out_.clear();
  std::swap(self->out_, self->next_out_);
  std::swap(self->unanswered_, self->unanswered_next_);
  auto const buffer = asio::buffer(self->out_);
  asio::async_write(self->socket_, buffer, [self](error_code const& ec, std::size_t) {
    self->writing_ = false;
    if (ec) return self->fail(from_asio(ec, "write to store " + self->peer_));
    for (auto const& call : std::exchange(self->unanswered_, {})) self->finish(*call, StoreReply{});
    write(self);
  });
}

void StoreConnection::read(Ptr const& self) {
  auto const buffer = asio::buffer(self->chunk_);
  self->socket_.async_read_some(buffer, [self](error_code const& ec, std::size_t count) {
    if (self->failure_) return;
    if (ec == asio::error::eof)
      return self->fail(Error{Errc::closed, "store " + self->peer_ + " closed the connection", {}});
    if (ec) return self->fail(from_asio(ec, "read from store " + self->peer_));
    self->input_.append(self->chunk_.data(), count);
    self->take_replies();
    self->pump(self);
    if (!self->failure_) read(self);
  });
}

void StoreConnection::take_replies() {
  std::size_t used = 0;
  while (!in_flight_.empty()) {
    auto const call = in_flight_.front();
    auto const found =
        decoder_.next(call->opcode(), call->keys, std::string_view{input_}.substr(used));
    if (!found) return fail(found.error());
    if (!found->has_value()) break;
    used += (*found)->consumed;
    if (take_reply(*call, (*found)->message)) in_flight_.pop_front();
  }
  input_.erase(0, used);
  if (in_flight_.empty() && !input_.empty())
    fail(Error{Errc::protocol, "store " + peer_ + " sent bytes that nobody asked for", {}});
}

// False while more belongs to this call: the answer to its cancellation.
bool StoreConnection::take_reply(Call& call, wire::Reply const& reply) {
  if (!call.cancelling) {
    finish(call, own(reply));
    return true;
  }
  if (reply.number != wire::kWaitCanceled) {
    call.result = own(reply);  // it ended while the cancellation was on its way
    return false;
  }
  finish(call, call.result ? *call.result : Result<StoreReply>(late(peer_, call.opcode())));
  return true;
}

std::string StoreConnection::local_address() const {
  error_code ec;
  auto const local = socket_.local_endpoint(ec);
  return ec ? std::string() : local.address().to_string();
}

void StoreConnection::fail(Error error) {
  if (failure_) return;
  failure_ = error;
  error_code ignored;
  socket_.close(ignored);
  for (auto* list : {&queued_, &in_flight_}) {
    for (auto const& call : std::exchange(*list, {})) finish(*call, error);
  }
  for (auto* list : {&unanswered_, &unanswered_next_}) {
    for (auto const& call : std::exchange(*list, {})) finish(*call, error);
  }
}

}  // namespace muster::net
