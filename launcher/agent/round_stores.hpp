// SPDX-License-Identifier: Apache-2.0
#pragma once
// The workers' stores of the rounds whose rank 0 is on this node: a fresh one for each, listening
// before the round is prepared. Control thread only.

#include "launcher/agent/membership_link.hpp"
#include "launcher/cli/options.hpp"
#include "rendezvous/base/ids.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/membership/node_network.hpp"
#include "rendezvous/net/server.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace muster::launch {

class RoundStores {
 public:
  // `networks`: of this node, whose addresses a store may be wished at.
  RoundStores(net::asio::io_context& io, RunOptions const& options,
              std::vector<membership::NodeNetwork> networks = {});

  // The port that the store listens on: one of --store-ports that has rested, else the
  // system's choice. On one node that of the endpoint, if the user named one; stores of older
  // rounds are closed for it then.
  Result<std::uint16_t> open(StoreWish const& wish);
  // More peers of a round whose store is open.
  void admit(StoreWish const& wish);
  void close_before(RoundNumber round);
  void close_all();

 private:
  Result<net::tcp::acceptor> listen(std::string const& address);

  net::asio::io_context& io_;
  bool alone_ = false;    // one node: nobody else is to reach it
  bool for_all_ = false;  // --open-store
  Endpoint endpoint_;
  std::vector<PortRange> ports_;
  std::vector<membership::NodeNetwork> networks_;
  std::deque<std::uint16_t> resting_;  // ports of the last rounds, the newest last
  std::map<RoundNumber, net::Server> stores_;
};

}  // namespace muster::launch
