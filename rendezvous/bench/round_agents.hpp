// SPDX-License-Identifier: Apache-2.0
#pragma once
// N agents of one job in this process, over real connections to a daemon: the real member core and
// control connections, made-up workers (they start and stop at once, and every node is reached).
// One thread.

#include "rendezvous/base/result.hpp"
#include "rendezvous/membership/member_step.hpp"
#include "rendezvous/net/control_connection.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace muster::bench {

struct Traffic {
  double messages = 0, bytes = 0;  // of one agent on average, both ways
};

class RoundAgents {
 public:
  RoundAgents(net::asio::io_context& io, std::uint16_t port, std::uint32_t count);
  ~RoundAgents();
  RoundAgents(RoundAgents const&) = delete;
  RoundAgents& operator=(RoundAgents const&) = delete;

  // From the first connect until every agent holds the record of the first round.
  Result<std::chrono::duration<double>> meet(std::chrono::seconds patience);
  // Time passes in which nothing happens but leases, as between two rounds of a job that trains.
  Result<void> rest();
  // One agent dies with its guardian's last word: until all others hold the record without it.
  Result<std::chrono::duration<double>> lose_one(std::chrono::seconds patience);
  // Since the last call.
  Traffic traffic();

 private:
  struct Agent;
  void connect(Agent& agent);
  void feed(Agent& agent, membership::member::Event const& event);
  void perform(Agent& agent, membership::member::Effect const& effect);
  void set_timer(Agent& agent);
  void start_workers(Agent& agent, membership::Commit const& commit);
  Result<std::chrono::duration<double>> run_until_all_hold(std::uint32_t nodes,
                                                           std::chrono::seconds patience);

  net::asio::io_context& io_;
  std::uint16_t port_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::uint32_t nodes_wanted_ = 0, holding_ = 0;
  std::uint64_t messages_ = 0, bytes_before_ = 0;
  std::chrono::steady_clock::time_point begun_, held_;
  std::optional<Error> problem_;
};

}  // namespace muster::bench
