// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/server.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/hub.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/net/wire_keys.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace muster::net {
namespace {

constexpr int kAcceptsInARow = 64;                        // then those who are here have their turn
constexpr std::chrono::milliseconds kAcceptBackoff{100};  // out of descriptors: let some close

}  // namespace

class Server::Body {
 public:
  Body(tcp::acceptor acceptor, ServerOptions options)
      : hub(std::move(options)),
        acceptor_(std::move(acceptor)),
        timer_(acceptor_.get_executor()),
        watch_(acceptor_.get_executor()),
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
  // Sets the timer for who is late next.
  static void watch(std::shared_ptr<Body> const& self);

  Hub hub;
  tcp::endpoint endpoint;

 private:
  static void accept_some(std::shared_ptr<Body> const& self);
  static void back_off(std::shared_ptr<Body> const& self, int error_number);
  static void admit(std::shared_ptr<Body> const& self, int descriptor, tcp::endpoint const& peer);
  bool turns_away(tcp::socket const& socket, tcp::endpoint const& peer);
  void make_room(ClientId longest);
  void reject_late();
  void close_sessions();

  tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  asio::steady_timer watch_;
  tcp protocol_;
  ClientId last_id_;
  TimePoint watched_ = TimePoint::max();  // when the timer ends
};

void Server::Body::await_connections(std::shared_ptr<Body> const& self) {
  self->acceptor_.async_wait(tcp::acceptor::wait_read, [self](error_code const& ec) {
    if (!ec) accept_some(self);
  });
}

void Server::Body::accept_some(std::shared_ptr<Body> const& self) {
  for (int i = 0; i < kAcceptsInARow && self->acceptor_.is_open(); ++i) {
    tcp::endpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    int const descriptor = ::accept4(self->acceptor_.native_handle(), peer.data(), &size,
                                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      peer.resize(size);
      admit(self, descriptor, peer);
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

void Server::Body::admit(std::shared_ptr<Body> const& self, int descriptor,
                         tcp::endpoint const& peer) {
  tcp::socket socket(self->acceptor_.get_executor());
  error_code ec;
  socket.assign(self->protocol_, descriptor, ec);
  if (ec) {
    ::close(descriptor);
    return;
  }
  auto& hub = self->hub;
  ++hub.counters.accepted;
  if (self->turns_away(socket, peer)) return;
  auto const id = self->last_id_ = self->last_id_.next();
  auto session =
      std::make_shared<Session>(std::shared_ptr<Hub>(self, &hub), std::move(socket), id, peer);
  hub.sessions.emplace(id.value, session);
  auto const address = plain_address(peer.address());
  auto const longest =
      hub.lobby.enter(id.value, address.is_loopback() ? "" : address.to_string(), now());
  if (longest) self->make_room(ClientId{*longest});
  watch(self);
  Session::start(session);
}

// Where only a store is served, strangers need not say more.
bool Server::Body::turns_away(tcp::socket const& socket, tcp::endpoint const& peer) {
  if (!hub.members || hub.options.on_control || hub.options.on_http) return false;
  error_code ec;
  if (hub.members->admits(peer.address(), socket.local_endpoint(ec).address())) return false;
  ++hub.counters.strangers;
  hub.complain(Complaint::stranger, peer, kStranger);
  return true;
}

// What it wants may have arrived, and only waits for its turn to be read.
void Server::Body::make_room(ClientId longest) {
  auto const session = hub.find(longest);
  if (!session) return;
  Session::look(session);
  if (hub.lobby.holds(longest.value)) session->reject_crowded();
}

void Server::Body::watch(std::shared_ptr<Body> const& self) {
  auto const next = std::min(self->hub.lobby.next_due().value_or(TimePoint::max()),
                             self->hub.budget.next_due().value_or(TimePoint::max()));
  if (next >= self->watched_ || !self->acceptor_.is_open()) return;
  self->watched_ = next;
  self->watch_.expires_after(Deadline{next}.left(now()));
  self->watch_.async_wait([self](error_code const& ec) {
    if (ec) return;
    self->watched_ = TimePoint::max();
    self->reject_late();
    watch(self);
  });
}

void Server::Body::reject_late() {
  auto const time = now();
  for (auto const id : hub.lobby.overdue(time)) {
    auto const session = hub.find(ClientId{id});
    if (session) Session::look(session);  // what has come in time counts
    if (!session || !hub.lobby.holds(id)) continue;
    if (session->is_idle())
      hub.lobby.leave(id);  // a client that asks later
    else
      session->reject_late();
  }
  for (auto const id : hub.budget.overdue(time))
    if (auto const session = hub.find(ClientId{id})) session->reject_slow();
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
  watch_.cancel();
  hub.on_written = nullptr;
  close_sessions();
  hub.sum_up_complaints();
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
  body_->hub.on_hold = [weak = std::weak_ptr<Body>(body_)] {
    if (auto const self = weak.lock()) Body::watch(self);
  };
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
  body_->hub.engine->watch(body_->hub.watched_key);
}
void Server::watch_key(std::string_view key, std::function<void()> on_written) {
  auto& hub = body_->hub;
  hub.watched_key = wire_key(key);
  hub.on_written = std::move(on_written);
  hub.engine->watch(hub.watched_key);
}
void Server::allow_only(std::vector<std::string> const& addresses) {
  body_->hub.members.emplace(addresses);
}
void Server::allow_also(std::vector<std::string> const& addresses) {
  if (body_->hub.members) body_->hub.members->add(addresses);
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
