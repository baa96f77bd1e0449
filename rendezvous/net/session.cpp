// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/session.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/hub.hpp"
#include "rendezvous/wire/greeting.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace muster::net {
namespace {

constexpr std::size_t kReadBufferBytes = 64u << 10;
constexpr int kReadsInARow = 8;  // then the others have their turn
constexpr std::size_t kKeptCapacity = 16u << 10;

// Drops the contents, and the memory where one large message made it large.
void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) std::string().swap(buffer);
}

}  // namespace

Session::Session(std::shared_ptr<Hub> hub, tcp::socket socket, ClientId id, tcp::endpoint peer)
    : hub_(std::move(hub)), socket_(std::move(socket)), id_(id), peer_(std::move(peer)) {}

// A wait, not a read: what arrives stays with the kernel until its turn, so that look() finds it.
void Session::start(Ptr const& self) {
  self->reading_ = true;
  self->socket_.async_wait(tcp::socket::wait_read,
                           [self](error_code const& ec) { on_first_bytes(self, ec); });
}

void Session::on_first_bytes(Ptr const& self, error_code const& ec) {
  self->reading_ = false;
  if (self->closed_ || self->finishing_) return;
  if (ec) return self->close();
  read_rest(self);
  if (self->is_read()) await_input(self);
}

void Session::await_input(Ptr const& self) {
  if (std::exchange(self->reading_, true)) return;
  auto const buffer = asio::buffer(self->chunk_);
  self->socket_.async_read_some(
      buffer, [self](error_code const& ec, std::size_t count) { on_input(self, ec, count); });
}

void Session::on_input(Ptr const& self, error_code const& ec, std::size_t count) {
  self->reading_ = false;
  if (self->closed_ || self->finishing_) return;
  if (ec == asio::error::eof) return finish(self);
  if (ec) return self->close();
  self->hub_->counters.bytes_in += count;
  take_in(self, {self->chunk_.data(), count});
  if (count == self->chunk_.size()) read_rest(self);
  if (!self->is_read()) return;
  // Not at once: with many connections its next request is there by the time that the others have
  // been served, and one call reads it, where reading now would find nothing and wait for epoll.
  asio::post(self->socket_.get_executor(), [self] {
    if (self->is_read()) await_input(self);
  });
}

void Session::resume(Ptr const& self) {
  self->held_back_ = false;
  if (self->is_read()) await_input(self);
}

// What has arrived, or the rest of what the small buffer held, in large pieces.
void Session::read_rest(Ptr const& self) {
  auto& buffer = self->hub_->read_buffer;
  buffer.resize(kReadBufferBytes);
  for (int i = 0; i < kReadsInARow; ++i) {
    if (!self->is_read()) return;
    auto const count =
        ::recv(self->socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count <= 0) return;  // nothing there, or an end that the next read reports
    self->hub_->counters.bytes_in += static_cast<std::uint64_t>(count);
    take_in(self, {buffer.data(), static_cast<std::size_t>(count)});
    if (static_cast<std::size_t>(count) < buffer.size()) return;
  }
}

void Session::take_in(Ptr const& self, std::string_view bytes) {
  if (self->input_.empty() && self->greeted_) {
    auto const used = self->process(self, bytes);
    self->input_.assign(bytes.substr(used));
  } else {
    self->input_.append(bytes);
    if (self->greeted_ || self->greet()) proceed(self);
  }
  if (!self->closed_) self->account();
}

// Carries out what lies in the input.
void Session::proceed(Ptr const& self) {
  auto const used = self->process(self, self->input_);
  if (used == self->input_.size())
    clear(self->input_);
  else
    self->input_.erase(0, used);
  if (self->closed_ || used == 0) return;
  if (self->input_.capacity() > kKeptCapacity + 2 * self->input_.size())
    self->input_.shrink_to_fit();
  if (std::exchange(self->budgeted_, false)) {
    self->hub_->budget.release(self->id_.value);  // what is left is another request
    self->hub_->resume_readers();
  }
}

// A request that is not whole and not small is counted, and may have to wait for others.
void Session::account() {
  auto const bytes = input_.capacity();
  if (!budgeted_ && bytes <= hub_->options.bounds.requests.small) return;
  budgeted_ = true;
  held_back_ = !hub_->budget.grow(id_.value, bytes, now());
  if (!held_back_) return;
  ++hub_->counters.held_back;
  hub_->on_hold();
}

std::size_t Session::process(Ptr const& self, std::string_view bytes) {
  std::size_t used = 0;
  while (!closed_) {
    if (is_full()) flush(self);
    if ((paused_ = is_full())) {
      ++hub_->counters.paused;
      break;
    }
    auto const found = decoder_.next(bytes.substr(used));
    if (!found) {
      reject(found.error());
      break;
    }
    if (!found->has_value()) break;
    if (!std::exchange(settled_, true)) hub_->lobby.leave(id_.value);
    used += (*found)->consumed;
    if (!serve((*found)->message)) break;
  }
  if (closed_) return bytes.size();
  flush(self);
  return used;
}

bool Session::serve(wire::Request const& request) {
  auto const begin = out_.size();
  auto const done = hub_->engine->apply(id_, request, out_, hub_->woken);
  if (!hub_->woken.empty()) wake_others(begin);
  if (hub_->engine->take_written()) tell_written();
  if (!done) reject(done.error());
  return done.has_value();
}

// Each waiter gets its byte in the order of arrival. A client that ended its own wait is woken
// before it is answered, as upstream does.
void Session::wake_others(std::size_t reply_begin) {
  auto const begin = now();
  for (auto const id : hub_->woken) {
    if (id == id_) {
      out_.insert(reply_begin, 1, wire::kStopWaiting);
      continue;
    }
    if (auto waiter = hub_->find(id)) {
      waiter->owe(wire::kStopWaiting);
      hub_->owing.push_back(std::move(waiter));
    }
  }
  hub_->woken.clear();
  for (auto const& waiter : hub_->owing) {
    flush(waiter);
    hub_->counters.wake.record(now() - begin, 1);
  }
  hub_->owing.clear();
}

// A copy is called: inside the call the owner may stop the server.
void Session::tell_written() {
  if (!hub_->on_written) return;
  asio::post(socket_.get_executor(), [hub = hub_] {
    auto const call = hub->on_written;
    if (call) call();
  });
}

void Session::flush(Ptr const& self) {
  auto& s = *self;
  if (s.writing_ || s.closed_) return;
  while (s.sent_ < s.out_.size()) {
    auto const sent = ::send(s.socket_.native_handle(), s.out_.data() + s.sent_,
                             s.out_.size() - s.sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return s.close();
      s.writing_ = true;
      s.socket_.async_wait(tcp::socket::wait_write,
                           [self](error_code const& ec) { on_writable(self, ec); });
      return;
    }
    s.sent_ += static_cast<std::size_t>(sent);
    s.hub_->counters.bytes_out += static_cast<std::uint64_t>(sent);
  }
  clear(s.out_);
  s.sent_ = 0;
  if (s.finishing_) s.close();
}

void Session::on_writable(Ptr const& self, error_code const& ec) {
  if (self->closed_) return;
  if (ec) return self->close();
  self->writing_ = false;
  flush(self);
  if (!self->paused_ || self->closed_ || self->is_full()) return;
  self->paused_ = false;
  proceed(self);
  if (self->is_read()) await_input(self);
}

// The client has said all it will say, or we are draining: what it is owed is still sent. The wait
// ends with the client, with keep-alive, or with the drain's patience.
void Session::finish(Ptr const& self) {
  self->finishing_ = true;
  self->hub_->engine->leave(self->id_);
  if (self->out_.size() == self->sent_) self->close();
}

bool Session::is_full() const {
  return out_.size() - sent_ > limits::kMaxUnsentBytes;
}

// True once the store's greeting was read; the connection is gone if it was another's.
bool Session::greet() {
  switch (wire::classify(input_)) {
    case wire::Greeting::undecided:
      return false;
    case wire::Greeting::store:
      return greet_store();
    case wire::Greeting::tls:  // what may be in it is for those to find out who speak control
    case wire::Greeting::control:
      if (hub_->options.on_control) {
        ++hub_->counters.control_connections;
        hand_over(hub_->options.on_control);
        return false;
      }
      break;
    case wire::Greeting::http:
      if (hub_->options.on_http) {
        ++hub_->counters.http_connections;
        hand_over(hub_->options.on_http);
        return false;
      }
      break;
    case wire::Greeting::unknown:
      break;
  }
  ++hub_->counters.unknown_greetings;
  hub_->complain(Complaint::unknown_greeting, peer_,
                 "its first bytes belong to no protocol that is served here");
  close();
  return false;
}

bool Session::greet_store() {
  error_code ec;
  auto& hub = *hub_;
  if (!hub.options.serves_store) {
    ++hub.counters.store_closed;
    hub.complain(Complaint::store_closed, peer_,
                 "the job has a token, and this endpoint's own store stays closed then "
                 "(--open-store opens it)");
  } else if (hub.members &&
             !hub.members->admits(peer_.address(), socket_.local_endpoint(ec).address())) {
    ++hub.counters.strangers;
    hub.complain(Complaint::stranger, peer_, kStranger);
  } else if (hub.is_full()) {
    ++hub.counters.crowded;
    hub.complain(Complaint::crowded, peer_,
                 "so many others use the store that files run out (ulimit -n)");
  } else {
    greeted_ = true;
    hub.engine->count_greeting();
    input_.erase(0, wire::kStoreGreeting.size());
    return true;
  }
  close();
  return false;
}

void Session::hand_over(std::function<void(tcp::socket, std::string)> const& taker) {
  closed_ = true;
  error_code ignored;
  if (reading_) socket_.cancel(ignored);  // else that read would take the next bytes
  auto const keep = hub_;                 // forget() may drop the last other owner
  keep->forget(id_);
  taker(std::move(socket_), std::move(input_));
}

void Session::reject(Error const& error) {
  ++hub_->counters.violations;
  hub_->complain(Complaint::violation, peer_, to_string(error));
  close();
}

void Session::reject_late() {
  ++hub_->counters.late_greetings;
  hub_->complain(Complaint::late_greeting, peer_,
                 greeted_ ? "its first request has not arrived whole in time"
                          : "it did not say which protocol it speaks");
  close();
}

void Session::reject_crowded() {
  ++hub_->counters.crowded;
  hub_->complain(Complaint::crowded, peer_,
                 "too many connections that have not asked for anything");
  close();
}

void Session::reject_slow() {
  ++hub_->counters.slow_requests;
  hub_->complain(Complaint::slow_request, peer_,
                 "its large request arrives too slowly, and others wait for its memory");
  close();
}

void Session::close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
  hub_->forget(id_);
}

}  // namespace muster::net
