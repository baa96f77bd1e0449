// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/dialer.hpp"

#include "rendezvous/base/ip_address.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/listener.hpp"

#include <algorithm>

namespace muster::net {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds{20};
constexpr Duration kLongestPause = std::chrono::milliseconds{500};
constexpr Duration kConnectPatience =
    std::chrono::seconds{3};  // a lost SYN is sent again after 1 s

}  // namespace

std::string to_text(Place const& place) {
  return endpoint_text(place.host, place.port);
}

Error unresolved(std::string const& host, error_code const& ec) {
  auto const nobody_asked = ec == asio::error::host_not_found_try_again;
  return {nobody_asked ? Errc::timeout : Errc::not_found,
          "cannot resolve host " + host + ": " + ec.message(),
          "check the name in --rdzv-endpoint or --master-addr"};
}

class Dialer::Body {
 public:
  Body(asio::io_context& io, std::vector<Place> places, ControlSide side, Callbacks callbacks)
      : places_(std::move(places)),
        self_(std::move(side)),
        callbacks_(std::move(callbacks)),
        resolver_(io),
        socket_(io),
        timer_(io) {
    self_.role = control::Role::caller;
  }

  using Ptr = std::shared_ptr<Body>;
  static void resolve(Ptr const& self);
  static void skip(Ptr const& self);
  void stop();
  Place const& place() const { return places_[current_]; }

  Duration greeting_patience = std::chrono::seconds{10};
  Duration silence_patience = std::chrono::seconds{30};

 private:
  static void connect(Ptr const& self, tcp::resolver::results_type const& addresses);
  static void converse(Ptr const& self);
  static void fell_silent(Ptr const& self);
  static void ended(Ptr const& self, Error const& error);
  static void next_place(Ptr const& self);
  static void pause(Ptr const& self);
  static void await(Ptr const& self, Duration patience, std::function<void()> over);
  // A copy is called: inside the call the owner may stop us, or call somebody else.
  template <class Callback, class... Args>
  static void tell(Callback callback, Args&&... args) {
    if (callback) callback(std::forward<Args>(args)...);
  }
  void problem(Error const& error) { tell(callbacks_.on_problem, error); }
  std::string where() const { return to_text(place()); }

  std::vector<Place> places_;
  std::size_t current_ = 0;
  ControlSide self_;
  Callbacks callbacks_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  ControlConnection::Ptr connection_;
  Duration pause_ = kFirstPause;
  std::optional<TimePoint> silent_since_;  // somebody listens, and has not greeted
  bool heard_ = false;                     // anything, on the present connection
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

// One pause for each time that all places were called.
void Dialer::Body::next_place(Ptr const& self) {
  if (++self->current_ < self->places_.size()) return await(self, {}, [self] { resolve(self); });
  self->current_ = 0;
  pause(self);
}

void Dialer::Body::skip(Ptr const& self) {
  if (self->stopped_ || !self->connection_) return;
  ControlConnection::finish(std::exchange(self->connection_, nullptr));
  next_place(self);
}

// Asio looks up one name after another: behind one that no name server answers for, an address
// would wait for longer than a lease lasts.
void Dialer::Body::resolve(Ptr const& self) {
  auto const& [host, port] = self->place();
  error_code is_name;
  auto const address = asio::ip::make_address(host, is_name);
  if (!is_name) {
    tcp::endpoint const endpoint(address, port);
    return connect(self, tcp::resolver::results_type::create(endpoint, host, std::to_string(port)));
  }
  self->resolver_.async_resolve(
      self->place().host, std::to_string(self->place().port), tcp::resolver::numeric_service,
      [self](error_code const& ec, tcp::resolver::results_type const& addresses) {
        if (self->stopped_) return;
        if (!ec) return connect(self, addresses);
        self->problem(unresolved(self->place().host, ec));
        if (!self->stopped_) next_place(self);
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
    self->silent_since_.reset();
    auto error = ec == asio::error::operation_aborted
                     ? Error{Errc::timeout, "no answer from " + self->where(), ""}
                     : from_asio(ec, "connect to " + self->where());
    self->problem(error);
    if (!self->stopped_) next_place(self);
  });
}

void Dialer::Body::converse(Ptr const& self) {
  close_on_exec(self->socket_.native_handle());
  self->heard_ = false;
  self->silent_since_ = self->silent_since_.value_or(now());
  self->connection_ = std::make_shared<ControlConnection>(std::move(self->socket_), self->self_);
  self->socket_ = tcp::socket(self->timer_.get_executor());
  await(self, self->greeting_patience, [self] {
    if (self->connection_ && !self->connection_->greeted()) fell_silent(self);
  });
  ControlConnection::Callbacks callbacks;
  callbacks.on_greeted = [self] {
    self->timer_.cancel();
    self->silent_since_.reset();
    tell(self->callbacks_.on_connected, self->connection_);
  };
  callbacks.on_letter = [self](control::Letter letter) {
    self->heard_ = true;
    tell(self->callbacks_.on_letter, std::move(letter));
  };
  callbacks.on_end = [self](Error const& error) {
    self->silent_since_.reset();
    ended(self, error);
  };
  ControlConnection::start(self->connection_, {}, std::move(callbacks));
}

// A host that is stopped, or has no time, says nothing either: only in the long run it is nobody.
void Dialer::Body::fell_silent(Ptr const& self) {
  self->connection_->close();
  auto const is_long = now() - *self->silent_since_ >= self->silence_patience;
  ended(self, {is_long ? Errc::protocol : Errc::timeout,
               "what listens at " + self->where() + " says nothing",
               "the endpoint must be a muster's or a musterd's: check host and port"});
}

void Dialer::Body::ended(Ptr const& self, Error const& error) {
  if (self->stopped_) return;
  auto const greeted = self->connection_ && self->connection_->greeted();
  self->connection_.reset();
  self->timer_.cancel();
  auto const wrong =
      error.code == Errc::refused || error.code == Errc::protocol || error.code == Errc::limit;
  if (greeted) tell(self->callbacks_.on_disconnected);
  if (self->stopped_) return;
  if (wrong) tell(self->callbacks_.on_refused, error);
  if (!wrong && !greeted) self->problem(error);
  if (self->stopped_) return;
  if (!self->heard_) return next_place(self);
  self->pause_ = kFirstPause;  // whoever spoke to us is the first one to be called again
  pause(self);
}

Dialer::Dialer(asio::io_context& io, std::vector<Place> places, ControlSide self,
               Callbacks callbacks)
    : body_(std::make_shared<Body>(io, std::move(places), std::move(self), std::move(callbacks))) {}

Dialer::~Dialer() {
  body_->stop();
}

void Dialer::start() {
  Body::resolve(body_);
}

void Dialer::stop() {
  body_->stop();
}

void Dialer::skip() {
  Body::skip(body_);
}

Place const& Dialer::place() const {
  return body_->place();
}

void Dialer::set_greeting_patience(Duration patience) {
  body_->greeting_patience = patience;
}

void Dialer::set_silence_patience(Duration patience) {
  body_->silence_patience = patience;
}

}  // namespace muster::net
