// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a node says while nobody answers at the endpoint: where it looked, and why it does not host
// itself. Pure.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/error.hpp"
#include "rendezvous/membership/node_network.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster::launch {

// Said once, after this long without an answer.
inline constexpr Duration kNobodyAnswers = std::chrono::seconds{5};

enum class NotHosting {
  not_its_address,  // the endpoint is none of this node's addresses
  told,             // --rdzv-conf=is_host=0
  not_rank_zero,    // static: node rank 0 hosts
  port_taken,       // another program of this machine listens there
};

struct AskedPlace {
  std::string host;
  std::uint16_t port = 0;
  std::vector<std::string> resolved;  // numeric; empty: it was not looked up, or has no address
};

struct UnansweredEndpoint {
  std::vector<AskedPlace> places;                 // at least one
  std::vector<membership::NodeNetwork> networks;  // of this node
  NotHosting reason = NotHosting::not_its_address;
  std::optional<Error> last_problem;
};

// One line: what the endpoint resolved to, with what it was compared, why this node therefore
// calls, and what to do.
std::string nobody_answers_line(UnansweredEndpoint const& endpoint, Duration waited);

}  // namespace muster::launch
