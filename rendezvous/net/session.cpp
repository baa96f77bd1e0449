// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/session.hpp"

#include "rendezvous/base/limits.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/hub.hpp"
#include "rendezvous/net/listener.hpp"
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

Session::Session(std::shared_ptr<Hub> hub, tcp::socket socket, ClientId id)
    : hub_(std::move(hub)), socket_(std::move(socket)), id_(id) {}

void Session::await_input(Ptr const& self) {
  auto const buffer = asio::buffer(self->chunk_);
  self->socket_.async_read_some(
      buffer, [self](error_code const& ec, std::size_t count) { on_input(self, ec, count); });
}

void Session::on_input(Ptr const& self, error_code const& ec, std::size_t count) {
  if (self->closed_ || self->finishing_) return;
  if (ec == asio::error::eof) return finish(self);
  if (ec) return self->close();
  self->hub_->counters.bytes_in += count;
  take_in(self, {self->chunk_.data(), count});
  if (count == self->chunk_.size()) read_rest(self);
  if (self->closed_ || self->paused_ || self->finishing_) return;
  // Not at once: with many connections its next request is there by the time that the others have
  // been served, and one call reads it, where reading now would find nothing and wait for epoll.
  asio::post(self->socket_.get_executor(), [self] {
    if (!self->closed_) await_input(self);
  });
}

// More than the small buffer held: takes the rest in large pieces.
void Session::read_rest(Ptr const& self) {
  auto& buffer = self->hub_->read_buffer;
  buffer.resize(kReadBufferBytes);
  for (int i = 0; i < kReadsInARow; ++i) {
    if (self->closed_ || self->paused_) return;
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
    return;
  }
  self->input_.append(bytes);
  if (self->greeted_ || self->greet()) proceed(self);
}

// Carries out what lies in the input.
void Session::proceed(Ptr const& self) {
  auto const used = self->process(self, self->input_);
  if (used == self->input_.size())
    clear(self->input_);
  else
    self->input_.erase(0, used);
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
  if (!self->closed_ && !self->paused_ && !self->finishing_) await_input(self);
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
      greeted_ = true;
      hub_->engine->count_greeting();
      input_.erase(0, wire::kStoreGreeting.size());
      return true;
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
  hub_->complain(Complaint::unknown_greeting, peer(),
                 "its first bytes belong to no protocol that is served here");
  close();
  return false;
}

void Session::hand_over(std::function<void(tcp::socket, std::string)> const& taker) {
  closed_ = true;
  auto const keep = hub_;  // forget() may drop the last other owner
  keep->forget(id_);
  taker(std::move(socket_), std::move(input_));
}

void Session::reject(Error const& error) {
  ++hub_->counters.violations;
  hub_->complain(Complaint::violation, peer(), to_string(error));
  close();
}

void Session::reject_late() {
  ++hub_->counters.late_greetings;
  hub_->complain(Complaint::late_greeting, peer(), "it did not say which protocol it speaks");
  close();
}

void Session::close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
  hub_->forget(id_);
}

std::string Session::peer() const {
  error_code ec;
  auto const endpoint = socket_.remote_endpoint(ec);
  return ec ? "a connection" : to_text(endpoint);
}

}  // namespace muster::net
