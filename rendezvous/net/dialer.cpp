// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/dialer.hpp"

#include "rendezvous/net/listener.hpp"

#include <algorithm>

namespace muster::net {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds{20};
constexpr Duration kLongestPause = std::chrono::milliseconds{500};
constexpr Duration kConnectPatience =
    std::chrono::seconds{3};  // a lost SYN is sent again after 1 s

}  // namespace

Error unresolved(std::string const& host, error_code const& ec) {
  auto const nobody_asked = ec == asio::error::host_not_found_try_again;
  return {nobody_asked ? Errc::timeout : Errc::not_found,
          "cannot resolve host " + host + ": " + ec.message(),
          "check the name in --rdzv-endpoint or --master-addr; one that comes later is waited for "
          "with --rdzv-conf=join_timeout=SECONDS"};
}

class Dialer::Body {
 public:
  Body(asio::io_context& io, std::string host, std::uint16_t port, std::string self_name,
       Callbacks callbacks)
      : host_(std::move(host)),
        port_(std::to_string(port)),
        self_name_(std::move(self_name)),
        callbacks_(std::move(callbacks)),
        resolver_(io),
        socket_(io),
        timer_(io) {}

  using Ptr = std::shared_ptr<Body>;
  static void resolve(Ptr const& self);
  void stop();

  Duration greeting_patience = std::chrono::seconds{10};

 private:
  static void connect(Ptr const& self, tcp::resolver::results_type const& addresses);
  static void converse(Ptr const& self);
  static void ended(Ptr const& self, Error const& error);
  static void pause(Ptr const& self);
  static void await(Ptr const& self, Duration patience, std::function<void()> over);
  void problem(Error const& error) {
    if (callbacks_.on_problem) callbacks_.on_problem(error);
  }
  std::string where() const { return host_ + ":" + port_; }

  std::string host_, port_, self_name_;
  Callbacks callbacks_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  ControlConnection::Ptr connection_;
  Duration pause_ = kFirstPause;
  bool stopped_ = false;
};

void Dialer::Body::stop() {
  stopped_ = true;
  callbacks_ = {};
  resolver_.cancel();
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  if (connection_) ControlConnection::finish(connection_);  // what was said is still sent
  connection_.reset();
}

void Dialer::Body::await(Ptr const& self, Duration patience, std::function<void()> over) {
  self->timer_.expires_after(patience);
  self->timer_.async_wait([self, over = std::move(over)](error_code const& ec) {
    if (!ec && !self->stopped_) over();
  });
}

void Dialer::Body::pause(Ptr const& self) {
  auto const length = self->pause_;
  self->pause_ = std::min(2 * length, kLongestPause);
  await(self, length, [self] { resolve(self); });
}

void Dialer::Body::resolve(Ptr const& self) {
  self->resolver_.async_resolve(
      self->host_, self->port_, tcp::resolver::numeric_service,
      [self](error_code const& ec, tcp::resolver::results_type const& addresses) {
        if (self->stopped_) return;
        if (!ec) return connect(self, addresses);
        self->problem(unresolved(self->host_, ec));
        if (!self->stopped_) pause(self);
      });
}

void Dialer::Body::connect(Ptr const& self, tcp::resolver::results_type const& addresses) {
  error_code ignored;
  self->socket_.close(ignored);
  await(self, kConnectPatience, [self] {
    error_code quiet;
    self->socket_.close(quiet);  // ends the attempt with operation_aborted
  });
  asio::async_connect(self->socket_, addresses, [self](error_code const& ec, tcp::endpoint const&) {
    if (self->stopped_) return;
    if (!ec && self->socket_.is_open()) return converse(self);
    auto error = ec == asio::error::operation_aborted
                     ? Error{Errc::timeout, "no answer from " + self->where(), ""}
                     : from_asio(ec, "connect to " + self->where());
    self->problem(error);
    if (!self->stopped_) pause(self);
  });
}

void Dialer::Body::converse(Ptr const& self) {
  close_on_exec(self->socket_.native_handle());
  self->connection_ =
      std::make_shared<ControlConnection>(std::move(self->socket_), self->self_name_);
  self->socket_ = tcp::socket(self->timer_.get_executor());
  await(self, self->greeting_patience, [self] {
    if (!self->connection_ || self->connection_->greeted()) return;
    self->connection_->close();
    ended(self, {Errc::protocol, "what listens at " + self->where() + " says nothing",
                 "the endpoint must be a muster's or a musterd's: check host and port"});
  });
  ControlConnection::Callbacks callbacks;
  callbacks.on_greeted = [self] {
    self->timer_.cancel();
    self->pause_ = kFirstPause;
    if (self->callbacks_.on_connected) self->callbacks_.on_connected(self->connection_);
  };
  callbacks.on_letter = [self](control::Letter letter) {
    if (self->callbacks_.on_letter) self->callbacks_.on_letter(std::move(letter));
  };
  callbacks.on_end = [self](Error const& error) { ended(self, error); };
  ControlConnection::start(self->connection_, {}, std::move(callbacks));
}

void Dialer::Body::ended(Ptr const& self, Error const& error) {
  if (self->stopped_) return;
  auto const greeted = self->connection_ && self->connection_->greeted();
  self->connection_.reset();
  self->timer_.cancel();
  if (error.code == Errc::refused || error.code == Errc::protocol || error.code == Errc::limit) {
    if (self->callbacks_.on_refused) self->callbacks_.on_refused(error);
    return;
  }
  if (greeted && self->callbacks_.on_disconnected) self->callbacks_.on_disconnected();
  if (self->stopped_) return;
  if (!greeted) self->problem(error);
  if (!self->stopped_) pause(self);
}

Dialer::Dialer(asio::io_context& io, std::string host, std::uint16_t port, std::string self_name,
               Callbacks callbacks)
    : body_(std::make_shared<Body>(io, std::move(host), port, std::move(self_name),
                                   std::move(callbacks))) {}

Dialer::~Dialer() {
  body_->stop();
}

void Dialer::start() {
  Body::resolve(body_);
}

void Dialer::stop() {
  body_->stop();
}

void Dialer::set_greeting_patience(Duration patience) {
  body_->greeting_patience = patience;
}

}  // namespace muster::net
