// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/control_connection.hpp"

#include "rendezvous/base/limits.hpp"

#include <algorithm>
#include <utility>

namespace muster::net {
namespace {

using control::Fault;
using control::Role;

constexpr std::size_t kFirstChunkBytes = 1024;
constexpr std::size_t kChunkBytes = 16 * 1024;
constexpr Duration kLinger = std::chrono::seconds{1};
// A peer that does not read what it is told: an outcome with all its reports still fits twice.
constexpr std::size_t kMaxUnsent = 2 * limits::kMaxControlBytes;

Fault fault_of(Error const& error) {
  return error.code == Errc::limit ? Fault::limit : Fault::protocol;
}

// A host that speaks of itself and does not know by which address it is reached: by the one that we
// see.
void name_speaker(control::Letter& letter, std::string const& peer) {
  auto* const is = std::get_if<membership::HostIs>(&letter.message);
  if (!is || is->host.node != letter.header.incarnation || is->host.port == 0) return;
  if (is->host.address.empty()) is->host.address = peer;
}

std::string_view run_id_in_openings(std::string const& run_id) {
  return std::string_view(run_id).substr(0, control::kMaxOpeningRunId);
}

}  // namespace

std::string numeric_address(tcp::endpoint const& endpoint) {
  auto const address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

ControlConnection::ControlConnection(tcp::socket socket, ControlSide side)
    : socket_(std::move(socket)),
      linger_(socket_.get_executor()),
      security_(std::move(side.security)),
      chunk_(kFirstChunkBytes, '\0') {
  error_code ec;
  auto const peer = socket_.remote_endpoint(ec);
  if (!ec) handshake_.peer_address = numeric_address(peer);
  auto const local = socket_.local_endpoint(ec);
  if (!ec) local_ = numeric_address(local);
  socket_.set_option(tcp::no_delay(true), ec);
  handshake_.role = side.role;
  handshake_.own.name = std::move(side.name);
  handshake_.own.run_id = std::move(side.run_id);
  handshake_.own.epoch = side.epoch;
}

void ControlConnection::start(Ptr const& self, std::string const& already_read,
                              Callbacks callbacks) {
  self->callbacks_ = std::move(callbacks);
  auto& mine = self->handshake_;
  auto const tls = self->security_ && self->security_->has_tls();
  mine.own.asks_tls = tls;
  std::optional<Error> no_nonce;
  if (self->security_ && !self->security_->token().empty()) {
    mine.token = self->security_->token();
    mine.mac = self->security_->mac();
    auto nonce = self->security_->fresh_nonce();
    if (nonce)
      mine.own.nonce = *std::move(nonce);
    else
      no_nonce = nonce.error();
  }
  if (tls && mine.role == Role::caller) self->tls_ = self->security_->tls_session(mine.role);
  asio::post(self->socket_.get_executor(), [self, already_read, no_nonce] {
    if (no_nonce) return end(self, *no_nonce);
    already_read.empty() ? read(self) : arrived(self, already_read);
  });
  // Who was called and has a certificate learns from the first byte whether it is to say it in TLS.
  if (!no_nonce && (!tls || self->tls_)) say(self, control::begin_handshake(mine));
}

void ControlConnection::send(Ptr const& self, control::Letter const& letter) {
  if (self->closed_ || self->finishing_) return;
  send_body(self, control::encode(letter));
  if (self->out_.size() + self->early_bytes_ > kMaxUnsent)
    give_up(
        self,
        {Errc::limit, "the peer at " + self->peer_address() + " does not read what it is sent", ""},
        Fault::limit);
}

void ControlConnection::send_body(Ptr const& self, std::string body) {
  if (!self->greeted_) {
    self->early_bytes_ += body.size();
    self->early_.push_back(std::move(body));
    return;
  }
  say(self, self->seal(body));
  if (self->sends_) self->sends_->count();
}

std::string ControlConnection::seal(std::string_view body) const {
  return control::frame(body, sends_ ? sends_->tag(body) : std::string());
}

Result<ControlConnection::Parting> ControlConnection::part(Ptr const& self,
                                                           control::Letter const& last) {
  if (!self->greeted_ || self->closed_ || self->writing_)
    return Error{Errc::canceled,
                 "the connection to " + self->peer_address() + " is busy or not open", ""};
  Parting parting;
  parting.bytes = self->seal(control::encode(last));
  if (self->tls_) {
    self->tls_->write(parting.bytes);
    parting.bytes = self->tls_->drain();
  }
  error_code ec;
  auto const descriptor = self->socket_.release(ec);
  if (ec) return from_asio(ec, "releasing the connection to " + self->peer_address());
  parting.socket.reset(descriptor);
  self->close();
  return parting;
}

void ControlConnection::when_sent(Ptr const& self, std::function<void()> call) {
  self->on_sent_ = std::move(call);
  if (!self->writing_) asio::post(self->socket_.get_executor(), [self] { tell_sent(self); });
}

void ControlConnection::tell_sent(Ptr const& self) {
  if (!self->closed_ && !self->writing_ && self->on_sent_) std::exchange(self->on_sent_, nullptr)();
}

void ControlConnection::when_closed(Ptr const& self, std::function<void()> call) {
  self->on_closed_ = std::move(call);
  if (self->closed_) self->tell_closed();
}

void ControlConnection::tell_closed() {
  if (on_closed_) asio::post(socket_.get_executor(), std::exchange(on_closed_, nullptr));
}

void ControlConnection::finish(Ptr const& self, Duration patience) {
  if (self->closed_ || std::exchange(self->finishing_, true)) return;
  self->writing_ ? close_after(self, patience) : hang_up(self);
}

void ControlConnection::hang_up(Ptr const& self) {
  error_code ignored;
  self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
  close_after(self, kLinger);
}

void ControlConnection::close_after(Ptr const& self, Duration patience) {
  self->linger_.expires_after(patience);
  self->linger_.async_wait([self](error_code const& ec) {
    if (!ec) self->close();
  });
}

void ControlConnection::give_up(Ptr const& self, Error error, Fault fault) {
  asio::post(self->socket_.get_executor(),
             [self, error = std::move(error), fault] { end(self, error, fault); });
}

void ControlConnection::close() {
  if (std::exchange(closed_, true)) return;
  linger_.cancel();
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  socket_.close(ignored);
  callbacks_ = {};
  on_sent_ = nullptr;
  tell_closed();
  place_.reset();
}

void ControlConnection::end(Ptr const& self, Error error, Fault fault) {
  if (self->closed_) return;
  auto const on_end = std::move(self->callbacks_.on_end);
  auto const wanted = !self->finishing_;
  self->close();
  if (self->fault_ == Fault::none) self->fault_ = fault;
  if (on_end && wanted) on_end(error);
}

// As end(), but the peer still gets what it was sent, so that it can say why, too.
void ControlConnection::refuse(Ptr const& self, Error error, Fault fault) {
  if (self->closed_) return;
  auto const on_end = std::move(self->callbacks_.on_end);
  auto const wanted = !std::exchange(self->finishing_, true);
  self->callbacks_ = {};
  self->fault_ = fault;
  self->refused_ = true;
  self->early_.clear();
  if (wanted) self->writing_ ? close_after(self, kSendPatience) : hang_up(self);
  if (on_end && wanted) on_end(error);
}

// Much is read in large pieces; a connection that says little, as most do, holds little.
void ControlConnection::fit_chunk() {
  auto const more = greeted_ && chunk_was_full_;
  auto const size = more ? std::min(4 * chunk_.size(), kChunkBytes) : kFirstChunkBytes;
  if (chunk_.size() != size) chunk_ = std::string(size, '\0');
}

void ControlConnection::read(Ptr const& self) {
  if (self->closed_) return;
  self->fit_chunk();
  self->socket_.async_read_some(
      asio::buffer(self->chunk_), [self](error_code const& ec, std::size_t count) {
        if (self->closed_) return;
        auto const& peer = self->peer_address();
        if (ec == asio::error::eof)
          return end(self, {Errc::closed, "the peer at " + peer + " hung up", ""});
        if (ec) return end(self, from_asio(ec, "connection to " + peer));
        self->chunk_was_full_ = count == self->chunk_.size();
        arrived(self, std::string_view(self->chunk_).substr(0, count));
      });
}

// Whether these bytes belong to a TLS handshake that somebody asks of us.
bool ControlConnection::is_costly(std::string_view bytes) const {
  if (!place_ || refused_ || handshake_.role != Role::host) return false;
  if (layered_) return tls_ && !tls_->established();
  return begins_tls(bytes.front()) && security_ && security_->has_tls();
}

// Nothing more is read until these bytes had their turn.
void ControlConnection::arrived(Ptr const& self, std::string_view bytes) {
  if (!self->is_costly(bytes)) {
    take_in(self, bytes);
    return read(self);
  }
  self->place_->when_due([self, kept = std::string(bytes)] {
    take_in(self, kept);
    read(self);
  });
}

void ControlConnection::take_in(Ptr const& self, std::string_view bytes) {
  if (self->closed_ || self->refused_) return;
  if (!self->layered_ && !choose_layer(self, bytes.front())) return;
  std::string opened;
  if (self->tls_) {
    auto plain = self->tls_->feed(bytes);
    say(self, {});
    if (!plain) {
      auto error = std::move(plain).error();
      error.what = "host " + self->peer_address() + ": " + error.what;
      return refuse(self, std::move(error), Fault::certificate);
    }
    opened = *std::move(plain);
    bytes = opened;
    if (!self->tls_->established()) return;
  }
  if (!self->greeted_) return shake_hands(self, bytes);
  self->reader_.feed(bytes);
  deliver(self);
  if (auto const place = self->place_) place->holds(self->reader_.held());
}

// TLS or not, as the peer's first byte says. False: the connection was refused.
bool ControlConnection::choose_layer(Ptr const& self, char first) {
  self->layered_ = true;
  if (self->handshake_.role == Role::caller) {
    // An answer in the clear is read for its name alone: the handshake refuses it.
    if (self->tls_ && !begins_tls(first)) self->tls_.reset();
    return true;
  }
  auto const can = self->security_ && self->security_->has_tls();
  if (begins_tls(first) && !can) {
    refuse(self,
           {Errc::refused,
            "host " + self->peer_address() + " asks for TLS; this node has no certificate",
            "give --tls-cert, --tls-key and --tls-ca"},
           Fault::tls);
    return false;
  }
  if (begins_tls(first)) self->tls_ = self->security_->tls_session(Role::host);
  if (can) say(self, control::begin_handshake(self->handshake_));
  return true;
}

void ControlConnection::shake_hands(Ptr const& self, std::string_view plain) {
  auto& mine = self->handshake_;
  if (self->tls_ && !std::exchange(mine.over_tls, true)) mine.said.binding = self->tls_->binding();
  auto step = control::handshake_step(mine, plain);
  if (!step.send.empty()) say(self, step.send);
  if (step.error) {
    // Others are told by what they were sent; whoever speaks something else would not understand.
    if (step.fault == Fault::foreign || step.fault == Fault::protocol)
      return end(self, *std::move(step.error), step.fault);
    return refuse(self, *std::move(step.error), step.fault);
  }
  if (mine.phase == control::Handshake::Phase::done) greet(self);
}

// Both sides are known to each other.
void ControlConnection::greet(Ptr const& self) {
  auto& mine = self->handshake_;
  self->greeted_ = true;
  if (!mine.token.empty()) {
    auto const peer = mine.role == Role::caller ? Role::host : Role::caller;
    self->sends_.emplace(mine.mac,
                         control::frame_key_of(mine.role, mine.mac, mine.token, mine.said));
    self->receives_.emplace(mine.mac, control::frame_key_of(peer, mine.mac, mine.token, mine.said));
    self->reader_.expect_tags(control::kTagBytes);
    mine.said = {};
  }
  self->reader_.feed(std::exchange(mine.input, {}));
  self->early_bytes_ = 0;
  for (auto& body : std::exchange(self->early_, {})) send_body(self, std::move(body));
  if (self->callbacks_.on_greeted) std::exchange(self->callbacks_.on_greeted, nullptr)();
  deliver(self);
}

Result<control::Letter> ControlConnection::open(std::string body) {
  if (receives_) {
    auto const size = body.size() - control::kTagBytes;
    if (!receives_->check(std::string_view(body).substr(0, size),
                          std::string_view(body).substr(size))) {
      fault_ = Fault::forged;
      return Error{Errc::protocol,
                   control::peer_text(handshake_) + ": a message that was not sent by it as it is",
                   "something between the two changes the connection"};
    }
    body.resize(size);
  }
  auto letter = control::decode(body);
  auto const& proven = handshake_.peer.run_id;
  // A caller speaks for the job that it named when it proved itself.
  if (letter && receives_ && handshake_.role == Role::host &&
      run_id_in_openings(letter->header.run_id) != proven)
    return Error{Errc::protocol,
                 control::peer_text(handshake_) + ": a message for run '" + letter->header.run_id +
                     "' on a connection that was opened for run '" + proven + "'",
                 ""};
  return letter;
}

// Everything that is whole goes to the owner.
void ControlConnection::deliver(Ptr const& self) {
  while (!self->closed_) {
    auto next = self->reader_.next();
    if (!next) return end(self, next.error(), fault_of(next.error()));
    if (!*next) return;
    auto letter = self->open(**std::move(next));
    if (!letter) return end(self, letter.error(), fault_of(letter.error()));
    if (self->finishing_) continue;
    name_speaker(*letter, self->peer_address());
    auto const on_letter = self->callbacks_.on_letter;  // the call may close us
    on_letter(*std::move(letter));
  }
}

// Puts bytes on the way, and what TLS has to say by itself.
void ControlConnection::say(Ptr const& self, std::string_view plain) {
  if (self->tls_) {
    self->tls_->write(plain);
    self->out_ += self->tls_->drain();
  } else {
    self->out_ += plain;
  }
  write(self);
}

void ControlConnection::write(Ptr const& self) {
  if (self->closed_ || self->writing_ || self->out_.empty()) return;
  self->writing_ = true;
  self->sending_ = std::exchange(self->out_, {});
  asio::async_write(self->socket_, asio::buffer(self->sending_),
                    [self](error_code const& ec, std::size_t) {
                      self->writing_ = false;
                      self->sending_ = {};
                      if (ec)
                        return end(self, from_asio(ec, "connection to " + self->peer_address()));
                      write(self);
                      if (self->finishing_ && !self->writing_) hang_up(self);
                      tell_sent(self);
                    });
}

}  // namespace muster::net
