// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/probe_plan.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

using namespace muster::membership;

namespace {

std::map<std::size_t, int> diallers(std::size_t count) {
  std::map<std::size_t, int> dialled;
  for (std::size_t rank = 0; rank < count; ++rank)
    for (auto const peer : probed_ranks(rank, count)) ++dialled[peer];
  return dialled;
}

}  // namespace

TEST_CASE("up to 32 nodes each dials every other one", "[membership]") {
  auto const count = GENERATE(std::size_t{1}, std::size_t{2}, std::size_t{32});
  for (std::size_t rank = 0; rank < count; ++rank) {
    auto const peers = probed_ranks(rank, count);
    CHECK(peers.size() == count - 1);
    CHECK(std::set(peers.begin(), peers.end()).size() == count - 1);
    CHECK(std::count(peers.begin(), peers.end(), rank) == 0);
  }
}

TEST_CASE("beyond 32 nodes each dials the master and three others, and is dialled by three",
          "[membership]") {
  auto const count = GENERATE(std::size_t{33}, std::size_t{34}, std::size_t{35}, std::size_t{1000});
  for (std::size_t rank = 1; rank < count; ++rank) {
    auto const peers = probed_ranks(rank, count);
    CHECK(peers.front() == 0);
    CHECK(peers.size() >= kProbedPeers);  // one of the three may be the master
    CHECK(peers.size() <= kProbedPeers + 1);
    CHECK(std::count(peers.begin(), peers.end(), rank) == 0);
  }
  auto const dialled = diallers(count);
  CHECK(dialled.at(0) == static_cast<int>(count) - 1);
  for (std::size_t rank = 1; rank < count; ++rank)
    CHECK(dialled.at(rank) == static_cast<int>(kProbedPeers));
}

TEST_CASE("nodes that had a round before dial the new store alone", "[membership]") {
  auto const count = GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{40});
  CHECK(probed_ranks(0, count, true).empty());
  for (std::size_t rank = 1; rank < count; ++rank)
    CHECK(probed_ranks(rank, count, true) == std::vector<std::size_t>{0});
}

TEST_CASE("a pair that cannot reach each other is named with both ends", "[membership]") {
  ProbeTarget const from{"n0", "10.0.0.0", 29400, false}, to{"n1", "10.0.0.1", 29401, false};
  CHECK(describe(from, {to, "connect: timed out"}) ==
        "host n0 (10.0.0.0) cannot reach host n1 at 10.0.0.1:29401: connect: timed out");
}
