// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/probe_plan.hpp"

#include "rendezvous/base/ip_address.hpp"

namespace muster::membership {

std::vector<std::size_t> probed_ranks(std::size_t rank, std::size_t count, bool tested) {
  std::vector<std::size_t> ranks;
  if (rank != 0) ranks.push_back(0);
  if (tested) return ranks;
  if (count <= kProbeAllNodes) {
    for (std::size_t peer = 1; peer < count; ++peer)
      if (peer != rank) ranks.push_back(peer);
    return ranks;
  }
  // In a large job those at a quarter, a half and three quarters of the way round, so that racks
  // test each other.
  for (std::size_t i = 1; i <= kProbedPeers; ++i) {
    auto const peer = (rank + i * count / (kProbedPeers + 1)) % count;
    if (peer != 0) ranks.push_back(peer);
  }
  return ranks;
}

std::string describe(ProbeTarget const& dialler, ProbeFailure const& failure) {
  auto const& target = failure.target;
  return "host " + dialler.host + " (" + dialler.address + ") cannot reach host " + target.host +
         " at " + endpoint_text(target.address, target.port) + ": " + failure.error;
}

}  // namespace muster::membership
