// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/hosted_job.hpp"

#include "rendezvous/base/log.hpp"
#include "rendezvous/base/now.hpp"

#include <utility>
#include <vector>

namespace muster::net {
namespace {

using namespace membership;

constexpr Duration kMembersHangUpWithin = std::chrono::seconds{1};

}  // namespace

HostedJob::HostedJob(asio::io_context& io, Callers& callers, Host host, JobSettings settings,
                     Callbacks callbacks)
    : io_(io),
      callers_(callers),
      callbacks_(std::move(callbacks)),
      host_(std::move(host)),
      settings_(std::move(settings)),
      timer_(io) {}

Header HostedJob::header() const {
  return {host_.run_id, host_.generation, host_.epoch, last_round(host_), host_.self, 0};
}

void HostedJob::drop() {
  over_ = true;
  callbacks_ = {};
  timer_.cancel();
  for (auto const& [id, route] : routes_)
    if (route.connection) callers_.close(route.connection);
  routes_.clear();
}

// Letters.

void HostedJob::arrived(Ptr const& self, control::Letter letter, Route route) {
  if (self->over_) return;
  if (auto const* by = std::get_if<HostIs>(&letter.message)) return step(self, Overruled{*by});
  if (self->hangs_up(letter, route)) return;
  Received event;
  event.seen_from = route.connection ? route.connection->peer_address() : "127.0.0.1";
  if (route.connection) event.reached_at = route.connection->local_address();
  if (std::holds_alternative<Join>(letter.message)) {
    auto& known = self->routes_[letter.header.incarnation];
    if (known.connection && known.connection != route.connection)
      self->callers_.close(known.connection);  // it called again before we saw the old one end
    known = std::move(route);
  }
  event.header = std::move(letter.header);
  event.message = std::move(letter.message);
  step(self, event);
}

// Whoever says that it is alive has not joined this host: what it is told would not reach it. It
// calls again when it is hung up on, and every call begins with JOIN.
bool HostedJob::hangs_up(control::Letter const& letter, Route const& route) {
  if (!route.connection || !std::holds_alternative<Lease>(letter.message)) return false;
  if (routes_.contains(letter.header.incarnation)) return false;
  log::debug("hung up on " + route.connection->peer_address() + ": a lease without a JOIN");
  callers_.finish(route.connection);
  return true;
}

void HostedJob::ended(Ptr const& self, ControlConnection::Ptr const& gone, Incarnation member) {
  auto const route = self->routes_.find(member);
  if (route == self->routes_.end() || route->second.connection != gone) return;
  self->routes_.erase(route);
  step(self, Disconnected{member});
}

void HostedJob::send(Send sent) {
  auto const found = routes_.find(sent.to);
  if (found == routes_.end()) return;  // it calls again, and is told what it lacks
  auto const refuses = std::holds_alternative<Refused>(sent.message);
  control::Letter letter{header(), std::move(sent.message)};
  if (auto const connection = found->second.connection) {
    ControlConnection::send(connection, letter);
    if (!refuses) return;
    callers_.finish(connection);
    routes_.erase(found);
  } else if (found->second.deliver) {
    asio::post(io_,
               [deliver = found->second.deliver, letter = std::move(letter)] { deliver(letter); });
  }
}

// Steps.

void HostedJob::step(Ptr const& self, HostEvent const& event) {
  if (self->over_) return;
  auto const time = now();
  auto result = host_step(self->host_, event, time, self->settings_);
  for (auto& sent : result.sends) self->send(std::move(sent));
  if (!self->why_ || !(*self->why_ == result.why)) {
    self->why_ = result.why;
    self->callbacks_.on_why(*self, time);
  }
  if (result.outcome)
    self->callbacks_.on_outcome({self->header(), *std::move(result.outcome)}, time);
  if (result.finished) return finish(self, result.successor);
  set_timer(self, result.wake_at);
}

// A timer that goes off too early does nothing but set itself anew: most events put the next moment
// off, by no more than a lease, and where thousands come at once each of them would be a system
// call.
void HostedJob::set_timer(Ptr const& self, TimePoint at) {
  if (at >= self->timer_at_) return;
  self->timer_at_ = at;
  self->timer_.expires_after(Deadline{at}.left(now()));
  self->timer_.async_wait([self](error_code const& ec) {
    if (ec) return;
    self->timer_at_ = TimePoint::max();
    step(self, Tick{});
  });
}

bool HostedJob::forbid(Ptr const& self, Error const& error) {
  if (self->over_ || self->host_.committed) return false;
  std::vector<Incarnation> members;
  for (auto const& [id, route] : self->routes_) members.push_back(id);
  for (auto const id : members) self->send({id, Refused{error.code, error.what, error.hint}});
  finish(self, std::nullopt);
  return true;
}

// The end. Its members hang up when they have heard it; those that do not get a moment to be sent
// it.

void HostedJob::finish(Ptr const& self, std::optional<HostIs> const& successor) {
  self->over_ = true;
  self->successor_ = successor;
  self->timer_.expires_after(kMembersHangUpWithin);
  self->timer_.async_wait([self](error_code const& ec) {
    if (ec) return;
    for (auto const& [id, route] : self->routes_)
      if (route.connection) route.connection->close();
    all_have_gone(self);
  });
  await_members(self);
  self->callbacks_.on_over(self, successor);
}

// The timer keeps the job until then.
void HostedJob::await_members(Ptr const& self) {
  self->open_ = 1;  // ours
  auto const weak = std::weak_ptr<HostedJob>(self);
  for (auto const& [id, route] : self->routes_) {
    if (!route.connection) continue;
    ++self->open_;
    self->callers_.finish(route.connection);
    ControlConnection::when_closed(route.connection, [weak] {
      if (auto const job = weak.lock()) member_has_gone(job);
    });
  }
  asio::post(self->io_, [self] { member_has_gone(self); });
}

void HostedJob::member_has_gone(Ptr const& self) {
  if (--self->open_ == 0) all_have_gone(self);
}

void HostedJob::all_have_gone(Ptr const& self) {
  self->timer_.cancel();
  self->routes_.clear();
  if (auto const tell = std::exchange(self->callbacks_, {}).on_told) tell(*self, self->successor_);
}

}  // namespace muster::net
