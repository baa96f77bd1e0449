// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hosts the membership of one job (inside an agent) or of many (musterd): runs
// membership::host_step over control connections that a Server hands over, and over a member in
// this process. Control thread only; callbacks are never made from inside a call.

#include "rendezvous/membership/explain.hpp"
#include "rendezvous/net/control_connection.hpp"

#include <map>
#include <optional>

namespace muster::net {

struct HostServiceOptions {
  std::string name;                     // of this machine, for people
  Incarnation self;                     // who hosts: the agent's own, or the daemon's
  std::optional<std::string> only_run;  // inside an agent: other jobs are refused
  // The reason why a job waits or runs has changed.
  std::function<void(std::string const& run_id, membership::Why const&, TimePoint)> on_why;
  // The job is over and everything that its members are owed was sent.
  std::function<void(std::string const& run_id)> on_finished;
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

  std::size_t jobs() const;
  // By run id, why each job is where it is: for the status page.
  std::map<std::string, membership::Why> reasons() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::net
