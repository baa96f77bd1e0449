// SPDX-License-Identifier: Apache-2.0
#pragma once
// Worlds over TCP inside one test process: a store on loopback, and a session for each rank.

#include "rendezvous/net/hosted_store.hpp"
#include "tests/unit/comm/group_cases.hpp"
#include "worker_runtime/comm/session.hpp"

namespace muster::worker::cases {

// The environment that a launcher whose agent serves the store gives to a rank.
EnvView environment_of(int rank, int size, std::uint16_t port);

class TcpWorld {
 public:
  explicit TcpWorld(int size, Duration timeout = std::chrono::seconds{60});

  // Empty if some rank could not join; why() says so then.
  Groups groups() const;
  std::string const& why() const { return why_; }
  // Ends one rank's session.
  void leave(int rank) { sessions_[static_cast<std::size_t>(rank)].reset(); }

 private:
  std::vector<std::shared_ptr<Session>> sessions_;
  std::string why_;
};

}  // namespace muster::worker::cases
