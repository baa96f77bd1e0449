// SPDX-License-Identifier: Apache-2.0
// Nodes that went without proof, and what the proven death of voters means for them.

#include "tests/unit/membership/host_bench.hpp"

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

namespace {

// Five, of which the host hears one besides itself: both stop, and have the round without the rest.
struct Parted : HostBench {
  Parted() : HostBench(5) {
    settings.min_nodes = 2;
    run(5);
    pass(5100ms, {1, 2});
    for (std::uint64_t i : {1u, 2u}) say(i, Stopped{round(), 0});
    open_store();
    answer_probes();
    for (std::uint64_t i : {1u, 2u}) say(i, Prepared{RoundNumber{2}, {}});
    REQUIRE(host.phase == Phase::forming);
  }
};

}  // namespace

TEST_CASE("where a dead voter is needed its vouchers are waited for, as they died with it",
          "[membership]") {
  Parted bench;
  SECTION("it was silent") {}
  SECTION("it spoke before") {
    bench.lease(5);  // kept for its vote, and to stop
    bench.say(5, Prepared{RoundNumber{2}, {}});
  }
  bench.pass(1s, {1, 2});
  REQUIRE(bench.host.phase == Phase::forming);
  bench.event(Died{Incarnation{5}, RoundNumber{1}});  // half of four, with the host
  CHECK(bench.host.phase == Phase::forming);
  bench.pass(4900ms, {1, 2});
  CHECK(bench.host.phase == Phase::forming);
  bench.event(Died{Incarnation{5}, RoundNumber{1}});  // said twice
  auto late = bench.lease_of(5);                      // that it sent before
  late.vouches = {{Incarnation{4}, 0}};
  bench.say(5, late);
  bench.pass(200ms, {1, 2});
  CHECK(bench.host.phase == Phase::running);
}

TEST_CASE("where all others are dead by proof nobody is waited for", "[membership]") {
  Parted bench;
  for (std::uint64_t i : {3u, 4u, 5u}) bench.event(Died{Incarnation{i}, RoundNumber{1}});
  CHECK(bench.host.phase == Phase::running);
}

TEST_CASE("where the living suffice a voter's death costs no time", "[membership]") {
  HostBench bench(4);
  bench.settings.min_nodes = 2;
  bench.run(4);
  bench.pass(5100ms, {1, 2, 3});
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Stopped{bench.round(), 0});
  bench.event(Died{Incarnation{3}, RoundNumber{1}});
  bench.open_store();
  bench.prepare_all();
  CHECK(bench.host.phase == Phase::running);
}

TEST_CASE("nobody waits for a life that is known to be over", "[membership]") {
  HostBench bench(3);
  bench.settings.min_nodes = 2;
  bench.run(3);
  bench.event(Died{Incarnation{3}, RoundNumber{1}});
  bench.host.ghosts[Incarnation{9}] = {bench.now, 60s};  // vouched for to the host before
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Stopped{bench.round(), 0});
  bench.open_store();
  bench.prepare_all();
  REQUIRE(bench.host.phase == Phase::forming);
  auto again = bench.join_of(10);
  bench.say(10, again);
  CHECK(bench.host.phase == Phase::forming);
  again.former = Incarnation{9};
  bench.say(11, again);
  CHECK(bench.host.phase == Phase::running);
}
