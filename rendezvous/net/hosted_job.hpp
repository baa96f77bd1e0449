// SPDX-License-Identifier: Apache-2.0
#pragma once
// One job of a host: feeds membership::host_step, sends what it says to the members, and keeps its
// one timer. Which jobs there are, and who may begin one, is host_service's. Control thread only.

#include "rendezvous/membership/event.hpp"
#include "rendezvous/membership/explain.hpp"
#include "rendezvous/membership/host.hpp"
#include "rendezvous/membership/host_step.hpp"
#include "rendezvous/net/callers.hpp"
#include "rendezvous/net/past_jobs.hpp"

#include <map>
#include <memory>
#include <optional>

namespace muster::net {

// The way to one member: a connection, or a function of this process.
struct Route {
  ControlConnection::Ptr connection;
  std::function<void(control::Letter)> deliver;
};

class HostedJob {
 public:
  using Ptr = std::shared_ptr<HostedJob>;
  struct Callbacks {
    // The reason why it waits or runs has changed.
    std::function<void(HostedJob const&, TimePoint)> on_why;
    std::function<void(PastJob, TimePoint)> on_outcome;
    // It is over here, and takes no letter any more.
    std::function<void(Ptr const&, std::optional<membership::HostIs> const& successor)> on_over;
    // And its members were sent all that they are owed, or had their time; posted.
    std::function<void(HostedJob const&, std::optional<membership::HostIs> const& successor)>
        on_told;
  };

  // `callers` outlive the job until it is over, or dropped.
  HostedJob(asio::io_context& io, Callers& callers, membership::Host host,
            membership::JobSettings settings, Callbacks callbacks);

  static void arrived(Ptr const& self, control::Letter letter, Route route);
  // That connection broke.
  static void ended(Ptr const& self, ControlConnection::Ptr const& gone, Incarnation member);
  static void step(Ptr const& self, membership::HostEvent const& event);
  // It must not begin: all who asked for it are refused. False, and nothing happens, where it has.
  static bool forbid(Ptr const& self, Error const& error);
  // No callback comes any more; members find out by their connections.
  void drop();

  membership::Host const& host() const { return host_; }
  std::optional<membership::Why> const& why() const { return why_; }

 private:
  bool hangs_up(control::Letter const& letter, Route const& route);
  void send(membership::Send sent);
  static void set_timer(Ptr const& self, TimePoint at);
  static void finish(Ptr const& self, std::optional<membership::HostIs> const& successor);
  static void await_members(Ptr const& self);
  static void member_has_gone(Ptr const& self);
  static void all_have_gone(Ptr const& self);
  membership::Header header() const;

  asio::io_context& io_;
  Callers& callers_;
  Callbacks callbacks_;
  membership::Host host_;
  membership::JobSettings settings_;
  std::map<Incarnation, Route> routes_;
  asio::steady_timer timer_;
  TimePoint timer_at_ = TimePoint::max();  // when it goes off
  std::optional<membership::Why> why_;
  std::optional<membership::HostIs> successor_;
  std::size_t open_ = 0;  // connections of a job that is over
  bool over_ = false;
};

}  // namespace muster::net
