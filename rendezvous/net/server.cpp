// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/server.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/hub.hpp"
#include "rendezvous/net/listener.hpp"

#include <cerrno>
#include <deque>
#include <sys/socket.h>
#include <utility>

namespace muster::net {
namespace {

constexpr int kAcceptsInARow = 256;
constexpr std::chrono::milliseconds kAcceptBackoff{100};  // out of descriptors: let some close

}  // namespace

class Server::Body {
 public:
  Body(tcp::acceptor acceptor, ServerOptions options)
      : hub(std::move(options)),
        acceptor_(std::move(acceptor)),
        timer_(acceptor_.get_executor()),
        greeting_timer_(acceptor_.get_executor()),
        protocol_(tcp::v6()) {
    error_code ec;
    endpoint = acceptor_.local_endpoint(ec);
    protocol_ = endpoint.protocol();
    hub.name = to_text(endpoint);
  }

  static void await_connections(std::shared_ptr<Body> const& self);
  void stop();
  static void drain(std::shared_ptr<Body> const& self, Duration patience,
                    std::function<void()> done);

  Hub hub;
  tcp::endpoint endpoint;

 private:
  static void accept_some(std::shared_ptr<Body> const& self);
  static void back_off(std::shared_ptr<Body> const& self, int error_number);
  static void admit(std::shared_ptr<Body> const& self, int descriptor);
  static void await_greetings(std::shared_ptr<Body> const& self);
  void reject_late_greetings();
  void close_sessions();

  struct Greeter {
    TimePoint due;
    ClientId id;
  };

  tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  asio::steady_timer greeting_timer_;
  tcp protocol_;
  ClientId last_id_;
  std::deque<Greeter> greeters_;  // in the order of their deadlines, which are equally long
  bool greeting_timer_runs_ = false;
};

void Server::Body::await_connections(std::shared_ptr<Body> const& self) {
  self->acceptor_.async_wait(tcp::acceptor::wait_read, [self](error_code const& ec) {
    if (!ec) accept_some(self);
  });
}

void Server::Body::accept_some(std::shared_ptr<Body> const& self) {
  for (int i = 0; i < kAcceptsInARow && self->acceptor_.is_open(); ++i) {
    int const descriptor =
        ::accept4(self->acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      admit(self, descriptor);
      continue;
    }
    if (errno == EAGAIN) break;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      return back_off(self, errno);
    // Anything else concerns the one connection that was to be accepted.
  }
  if (self->acceptor_.is_open()) await_connections(self);
}

void Server::Body::back_off(std::shared_ptr<Body> const& self, int error_number) {
  if (self->hub.counters.accept_failures++ == 0)
    log::warning("store " + self->hub.name + ": " +
                 from_errno(error_number, "cannot accept a connection").what +
                 "; waiting for others to close (raise the limit of open files: ulimit -n)");
  self->timer_.expires_after(kAcceptBackoff);
  self->timer_.async_wait([self](error_code const& ec) {
    if (!ec) accept_some(self);
  });
}

void Server::Body::admit(std::shared_ptr<Body> const& self, int descriptor) {
  tcp::socket socket(self->acceptor_.get_executor());
  error_code ec;
  socket.assign(self->protocol_, descriptor, ec);
  if (ec) {
    ::close(descriptor);
    return;
  }
  ++self->hub.counters.accepted;
  auto const id = self->last_id_ = self->last_id_.next();
  auto session =
      std::make_shared<Session>(std::shared_ptr<Hub>(self, &self->hub), std::move(socket), id);
  self->hub.sessions.emplace(id.value, session);
  self->greeters_.push_back({now() + self->hub.options.greeting_deadline, id});
  await_greetings(self);
  Session::start(session);
}

void Server::Body::await_greetings(std::shared_ptr<Body> const& self) {
  if (self->greeting_timer_runs_ || self->greeters_.empty()) return;
  self->greeting_timer_runs_ = true;
  self->greeting_timer_.expires_after(Deadline{self->greeters_.front().due}.left(now()));
  self->greeting_timer_.async_wait([self](error_code const& ec) {
    self->greeting_timer_runs_ = false;
    if (ec) return;
    self->reject_late_greetings();
    await_greetings(self);
  });
}

void Server::Body::reject_late_greetings() {
  auto const time = now();
  while (!greeters_.empty() && greeters_.front().due <= time) {
    auto const session = hub.find(greeters_.front().id);
    greeters_.pop_front();
    if (session && !session->greeted()) session->reject_late();
  }
}

void Server::Body::close_sessions() {
  while (!hub.sessions.empty()) {
    auto const session = hub.sessions.begin()->second;
    session->close();
  }
}

void Server::Body::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
  greeting_timer_.cancel();
  greeters_.clear();
  close_sessions();
}

void Server::Body::drain(std::shared_ptr<Body> const& self, Duration patience,
                         std::function<void()> done) {
  error_code ignored;
  self->acceptor_.close(ignored);
  self->hub.draining = true;
  self->hub.on_empty = [self, done = std::move(done)] {
    self->stop();
    asio::post(self->timer_.get_executor(), done);
  };
  auto const sessions = self->hub.sessions;  // finish() removes from it
  for (auto const& entry : sessions) Session::finish(entry.second);
  if (self->hub.sessions.empty()) {
    if (self->hub.on_empty) std::exchange(self->hub.on_empty, nullptr)();
    return;
  }
  self->timer_.expires_after(patience);
  self->timer_.async_wait([self](error_code const& ec) {
    if (!ec) self->close_sessions();
  });
}

Server::Server(tcp::acceptor acceptor, ServerOptions options)
    : body_(std::make_shared<Body>(std::move(acceptor), std::move(options))) {
  Body::await_connections(body_);
}

Server::~Server() {
  if (body_) body_->stop();
}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&& other) noexcept {
  if (this != &other) {
    if (body_) body_->stop();
    body_ = std::move(other.body_);
  }
  return *this;
}

tcp::endpoint Server::endpoint() const {
  return body_->endpoint;
}
void Server::stop() {
  body_->stop();
}
void Server::drain(Duration patience, std::function<void()> done) {
  Body::drain(body_, patience, std::move(done));
}
void Server::renew_keys() {
  auto const sessions = body_->hub.sessions;  // close() removes from it
  for (auto const& [id, session] : sessions)
    if (session->greeted()) session->close();
  body_->hub.engine = std::make_unique<store::Engine>();
}
store::Engine const& Server::engine() const {
  return *body_->hub.engine;
}
ServerCounters const& Server::counters() const {
  return body_->hub.counters;
}
std::size_t Server::connections() const {
  return body_->hub.sessions.size();
}

}  // namespace muster::net
