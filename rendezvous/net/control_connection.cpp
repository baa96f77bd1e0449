// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/control_connection.hpp"

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/limits.hpp"

#include <utility>

namespace muster::net {
namespace {

constexpr std::size_t kChunkBytes = 16 * 1024;
constexpr Duration kLinger = std::chrono::seconds{1};
// A peer that does not read what it is told: an outcome with all its reports still fits twice.
constexpr std::size_t kMaxUnsent = 2 * limits::kMaxControlBytes;

}  // namespace

std::string numeric_address(tcp::endpoint const& endpoint) {
  auto const address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

ControlConnection::ControlConnection(tcp::socket socket, std::string self_name)
    : socket_(std::move(socket)),
      linger_(socket_.get_executor()),
      self_name_(std::move(self_name)),
      chunk_(kChunkBytes, '\0') {
  error_code ec;
  auto const peer = socket_.remote_endpoint(ec);
  if (!ec) peer_ = numeric_address(peer);
  auto const local = socket_.local_endpoint(ec);
  if (!ec) local_ = numeric_address(local);
  socket_.set_option(tcp::no_delay(true), ec);
}

void ControlConnection::start(Ptr const& self, std::string const& already_read,
                              Callbacks callbacks) {
  self->callbacks_ = std::move(callbacks);
  self->out_ = control::greeting();
  write(self);
  self->greeting_in_ = already_read;
  asio::post(self->socket_.get_executor(), [self] { deliver(self); });
}

void ControlConnection::send(Ptr const& self, control::Letter letter) {
  if (self->closed_ || self->finishing_) return;
  self->out_ += control::frame(control::encode(std::move(letter)));
  if (self->out_.size() > kMaxUnsent) {
    asio::post(self->socket_.get_executor(), [self] {
      end(self, {Errc::limit, "the peer at " + self->peer_ + " does not read what it is sent", ""});
    });
    return;
  }
  write(self);
}

void ControlConnection::finish(Ptr const& self) {
  if (self->closed_ || std::exchange(self->finishing_, true)) return;
  if (!self->writing_) hang_up(self);
}

void ControlConnection::hang_up(Ptr const& self) {
  error_code ignored;
  self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
  self->linger_.expires_after(kLinger);
  self->linger_.async_wait([self](error_code const&) { self->close(); });
}

void ControlConnection::close() {
  if (std::exchange(closed_, true)) return;
  linger_.cancel();
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  socket_.close(ignored);
  callbacks_ = {};
}

void ControlConnection::end(Ptr const& self, Error error) {
  if (self->closed_) return;
  auto const on_end = std::move(self->callbacks_.on_end);
  auto const wanted = !self->finishing_;
  self->close();
  if (on_end && wanted) on_end(error);
}

void ControlConnection::read(Ptr const& self) {
  if (self->closed_) return;
  self->socket_.async_read_some(
      asio::buffer(self->chunk_), [self](error_code const& ec, std::size_t count) {
        if (self->closed_) return;
        if (ec == asio::error::eof)
          return end(self, {Errc::closed, "the peer at " + self->peer_ + " hung up", ""});
        if (ec) return end(self, from_asio(ec, "connection to " + self->peer_));
        auto const bytes = std::string_view(self->chunk_).substr(0, count);
        if (self->greeted_)
          self->reader_.feed(bytes);
        else
          self->greeting_in_ += bytes;
        deliver(self);
      });
}

// Everything that is whole goes to the owner, then more is read.
void ControlConnection::deliver(Ptr const& self) {
  if (self->closed_ || !self->take_greeting(self)) return;
  while (self->greeted_) {
    auto next = self->reader_.next();
    if (!next) return end(self, std::move(next).error());
    if (!*next) break;
    auto letter = control::decode(**next);
    if (!letter) return end(self, std::move(letter).error());
    if (self->finishing_) continue;
    auto const on_letter = self->callbacks_.on_letter;  // the call may close us
    on_letter(*std::move(letter));
    if (self->closed_) return;
  }
  read(self);
}

// False: the connection has ended.
bool ControlConnection::take_greeting(Ptr const& self) {
  if (greeted_) return true;
  auto const head = std::string_view(greeting_in_).substr(0, control::kMagic.size());
  if (!control::kMagic.starts_with(head)) {
    end(self,
        {Errc::protocol, "what listens at " + peer_ + " does not speak muster's control protocol",
         "the endpoint must be a muster's or a musterd's: check host and port"});
    return false;
  }
  if (greeting_in_.size() < control::kGreetingBytes) return true;
  auto const version =
      control::read_greeting(std::string_view(greeting_in_).substr(0, control::kGreetingBytes));
  if (!version) {
    end(self, version.error());
    return false;
  }
  if (*version != control::kProtocolVersion) {
    end(self, control::version_mismatch(*version, peer_, self_name_));
    return false;
  }
  greeted_ = true;
  reader_.feed(std::string_view(greeting_in_).substr(control::kGreetingBytes));
  greeting_in_.clear();
  if (callbacks_.on_greeted) std::exchange(callbacks_.on_greeted, nullptr)();
  return !closed_;
}

void ControlConnection::write(Ptr const& self) {
  if (self->closed_ || self->writing_ || self->out_.empty()) return;
  self->writing_ = true;
  self->sending_ = std::exchange(self->out_, {});
  asio::async_write(self->socket_, asio::buffer(self->sending_),
                    [self](error_code const& ec, std::size_t) {
                      self->writing_ = false;
                      if (ec) return end(self, from_asio(ec, "connection to " + self->peer_));
                      write(self);
                      if (self->finishing_ && !self->writing_) hang_up(self);
                    });
}

}  // namespace muster::net
