// SPDX-License-Identifier: Apache-2.0
#pragma once
// The load generator: N connections in a closed loop over one epoll set, each with `depth` requests
// under way. It does as little as it can, so that what is measured is the server.

#include "rendezvous/base/result.hpp"
#include "rendezvous/base/unique_fd.hpp"
#include "rendezvous/bench/peers.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace muster::bench {

// Answers a second, and the server's CPU time for each.
struct Rate {
  double per_second = 0;
  double server_us = 0;
};

inline Rate rate_of(std::uint64_t done, std::chrono::duration<double> took, double cpu_seconds) {
  auto const count = static_cast<double>(done);
  return {count / took.count(), cpu_seconds * 1e6 / count};
}

// What one connection sends again and again. Requests and replies of a case all have one size,
// except where `reply_bytes` is 0: then a reply ends with a newline.
struct Script {
  std::string setup;            // sent once, before the clock starts
  std::size_t setup_reply = 0;  // its bytes
  std::string request;
  std::size_t reply_bytes = 0;
};

struct Load {
  std::size_t connections = 1;
  std::size_t depth = 1;
  std::chrono::milliseconds length{500};
};

Result<UniqueFd> connect_loopback(std::uint16_t port);
Result<void> send_all(int fd, std::string_view bytes);
Result<std::string> receive(int fd, std::size_t count);
// Lets this process and its children have as many descriptors as it may.
void raise_descriptor_limit();

// script(i): for connection i.
Result<Rate> run_load(Peer const& peer, Load const& load,
                      std::function<Script(std::size_t)> const& script);

// One side waits for a key, the other sets it, `pairs` times at once; counts wake-ups.
Result<Rate> run_wait_wake(Peer const& peer, Load const& load);

}  // namespace muster::bench
