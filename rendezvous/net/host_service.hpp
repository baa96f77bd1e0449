// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hosts the membership of one job (inside an agent) or of many (musterd): runs
// membership::host_step over control connections that a Server hands over, and over a member in
// this process. Inside an agent that does not host, it is the ear of that agent: letters from other
// nodes are passed on to its member. Control thread only; callbacks are never made from inside a
// call.

#include "rendezvous/membership/explain.hpp"
#include "rendezvous/membership/host.hpp"
#include "rendezvous/net/control_connection.hpp"
#include "rendezvous/net/newcomers.hpp"

#include <map>
#include <optional>

namespace muster::net {

struct HostServiceOptions {
  std::string name;                     // of this machine, for people
  Incarnation self;                     // who hosts: the agent's own, or the daemon's
  std::optional<std::string> only_run;  // inside an agent: other jobs are refused
  bool begins_jobs = true;              // a JOIN for an unknown job begins it
  Security::Ptr security;               // what callers have to prove; null: nothing
  Bounds bounds = bounds_of_this_process();
  // The reason why a job waits or runs has changed.
  std::function<void(std::string const& run_id, membership::Why const&, TimePoint)> on_why;
  // The job is over here, and everything that its members are owed was sent. `successor`: it goes
  // on there; without one, and where no outcome was told, its voters elect one.
  std::function<void(std::string const& run_id, std::optional<membership::HostIs> const& successor)>
      on_finished;
  // Inside an agent: what is said to its member as a voter, and everything for a job that is not
  // hosted here.
  std::function<void(control::Letter)> on_other;
};

class HostService {
 public:
  HostService(asio::io_context& io, HostServiceOptions options);
  ~HostService();  // closes every connection at once
  HostService(HostService const&) = delete;
  HostService& operator=(HostService const&) = delete;

  // For ServerOptions::on_control.
  void take(tcp::socket socket, std::string bytes);

  // A member in this process: its letters come in here, `deliver` gets the answers, each posted.
  void local_letter(control::Letter letter, std::function<void(control::Letter)> deliver);
  // To whoever's letter came to on_other, on the connection that it came on. Dropped if that is
  // gone.
  void reply(Incarnation to, control::Letter letter);

  // From now on a JOIN begins its job, in a generation later than `known`.
  void begin_jobs(Generation known);
  // Goes on with a job whose host was lost.
  void adopt(membership::Host host, membership::JobSettings const& settings);
  // Somebody else hosts that job.
  void overrule(std::string const& run_id, membership::HostIs const& by);
  // That job must not begin, for this reason: all who asked for it are refused. False, and nothing
  // happens, where it has begun, or is not hosted here.
  bool forbid(std::string const& run_id, Error const& error);
  // Hands every job over to its voters, begins none any more, and calls `done` when all are told or
  // `patience` is over.
  void resign(Duration patience, std::function<void()> done);

  // What this host says of itself to those who look for the host of that job.
  std::optional<membership::HostIs> hosted(std::string const& run_id) const;
  std::size_t jobs() const;
  ControlCounters const& counters() const;
  // By run id, why each job is where it is: for the status page.
  std::map<std::string, membership::Why> reasons() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
