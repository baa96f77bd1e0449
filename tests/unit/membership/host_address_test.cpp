// SPDX-License-Identifier: Apache-2.0
// What a host does about members that call by another address than before.
#include "tests/unit/membership/host_bench.hpp"

#include <algorithm>

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

namespace {

using Addresses = std::vector<std::string>;

// The member calls again, from there.
void call_from(HostBench& bench, std::uint64_t member, std::string address,
               Status const& status = {}) {
  auto join = bench.join_of(member);
  join.status = status;
  bench.event(Received{{"job", bench.host.generation, bench.host.epoch, {}, Incarnation{member}, 0},
                       join,
                       std::move(address),
                       "10.0.0.1"});
}

Addresses last_peers(HostBench const& bench) {
  auto const wishes = bench.to<OpenStore>(1);
  return wishes.empty() ? Addresses{} : wishes.back().peers;
}

}  // namespace

TEST_CASE("a round's store is for the addresses of its members", "[membership]") {
  HostBench bench(3);
  for (std::uint64_t i : {1u, 2u, 3u}) bench.join(i);
  REQUIRE(bench.to<OpenStore>(1).size() == 1);
  CHECK(last_peers(bench) == Addresses{"10.0.0.1", "10.0.0.2", "10.0.0.3"});
}

TEST_CASE("a newcomer that waits is no member of the round that runs", "[membership]") {
  HostBench bench(2);
  bench.settings.max_nodes = 3;
  bench.settings.scale_interval = Duration::zero();
  bench.join(1);
  bench.join(2);
  bench.pass(bench.settings.quiet + 1s, {1, 2});
  bench.open_store();
  bench.prepare_all();
  REQUIRE(bench.host.phase == Phase::running);
  CHECK(last_peers(bench) == Addresses{"10.0.0.1", "10.0.0.2"});
  bench.clear();
  bench.join(3);
  call_from(bench, 3, "192.0.2.3");
  CHECK(bench.to<OpenStore>(1).empty());
  bench.pass(bench.settings.quiet + 1s, {1, 2, 3});
  REQUIRE_FALSE(bench.to<OpenStore>(1).empty());  // the round that it brings has another store
  CHECK(bench.to<OpenStore>(1).back().round == RoundNumber{2});
  CHECK(last_peers(bench) == Addresses{"10.0.0.1", "10.0.0.2", "192.0.2.3"});
}

TEST_CASE("a member that moves before the COMMIT has its round formed anew", "[membership]") {
  HostBench bench(2);
  bench.join(1);
  bench.join(2);
  bench.open_store();
  bench.clear();
  call_from(bench, 2, "192.0.2.2");
  REQUIRE(bench.host.phase == Phase::forming);
  CHECK(bench.host.proposal->record.round == RoundNumber{2});
  CHECK(bench.host.proposal->table[1].address == "192.0.2.2");
  CHECK(last_peers(bench) == Addresses{"10.0.0.1", "192.0.2.2"});
  bench.open_store();
  bench.prepare_all();
  CHECK(bench.host.phase == Phase::running);
}

TEST_CASE("a member that is seen elsewhere is let in, its round goes on", "[membership]") {
  HostBench bench(2);
  for (std::uint64_t i : {1u, 2u}) {
    auto join = bench.join_of(i);
    join.facts.address = "10.0.0." + std::to_string(i);  // it is reached there, whatever is seen
    bench.say(i, std::move(join));
  }
  auto const call = [&bench](std::uint64_t member, std::string address) {
    auto join = bench.join_of(member);
    join.facts.address = "10.0.0." + std::to_string(member);
    bench.event(
        Received{{"job", bench.host.generation, bench.host.epoch, {}, Incarnation{member}, 0},
                 join,
                 std::move(address),
                 "10.0.0.1"});
  };
  bench.open_store();
  bench.clear();
  call(2, "192.0.2.2");
  CHECK(last_peers(bench) == Addresses{"10.0.0.2", "192.0.2.2"});
  call(2, "192.0.2.2");  // nothing new
  CHECK(bench.to<OpenStore>(1).size() == 1);
  bench.prepare_all();
  REQUIRE(bench.host.phase == Phase::running);
  CHECK(bench.round() == RoundNumber{1});
  call(2, "192.0.2.9");
  CHECK(last_peers(bench) == Addresses{"10.0.0.2", "192.0.2.9"});
  CHECK(bench.to<OpenStore>(1).back().round == RoundNumber{1});
  call(1, "192.0.2.1");  // who holds the store may have missed the others
  CHECK(last_peers(bench) == Addresses{"10.0.0.1", "10.0.0.2", "192.0.2.1", "192.0.2.9"});
}
