// SPDX-License-Identifier: Apache-2.0
// Whom the nodes of a round are asked to dial. What follows from their answers:
// host_round_test.cpp.
#include "tests/unit/membership/host_bench.hpp"

using namespace muster;
using namespace muster::membership;

namespace {

// A member whose agent listens at its own port, and which offers these networks.
void join_listening(HostBench& bench, std::uint64_t member,
                    std::vector<NodeNetwork> networks = {}) {
  auto join = bench.join_of(member);
  join.facts.control_port = static_cast<std::uint16_t>(29400 + member);
  join.facts.networks = std::move(networks);
  bench.say(member, std::move(join));
}

ProbeTarget listener(std::uint64_t member) {
  auto const text = std::to_string(member);
  return {"n" + text, "10.0.0." + text, static_cast<std::uint16_t>(29400 + member), false};
}

ProbeTarget const kStore{"n1", "10.0.0.1", 4000, true};

std::vector<ProbeTarget> asked(HostBench const& bench, std::uint64_t member) {
  auto const probes = bench.to<Probe>(member);
  return probes.empty() ? std::vector<ProbeTarget>{} : probes.back().targets;
}

using Targets = std::vector<ProbeTarget>;

}  // namespace

TEST_CASE("each node dials the store and the listeners of the others", "[membership]") {
  HostBench bench(3);
  for (std::uint64_t i : {1u, 2u, 3u}) join_listening(bench, i);
  bench.open_store();
  CHECK(asked(bench, 1) == Targets{listener(2), listener(3)});
  CHECK(asked(bench, 2) == Targets{kStore, listener(3)});
  CHECK(asked(bench, 3) == Targets{kStore, listener(2)});
}

TEST_CASE("a round of nodes that had one dials its store alone", "[membership]") {
  HostBench bench(3);
  bench.settings.max_restarts = 1;
  for (std::uint64_t i : {1u, 2u, 3u}) join_listening(bench, i);
  bench.open_store();
  bench.prepare_all();
  REQUIRE(bench.host.phase == Phase::running);
  bench.clear();
  bench.say(2, bench.failure(7));
  bench.open_store();
  CHECK(asked(bench, 1).empty());
  CHECK(asked(bench, 2) == Targets{kStore});
  CHECK(asked(bench, 3) == Targets{kStore});
}

TEST_CASE("a round with a newcomer tests every pair again", "[membership]") {
  HostBench bench(3);
  bench.settings.min_nodes = 2;
  bench.settings.scale_interval = Duration::zero();
  for (std::uint64_t i : {1u, 2u}) join_listening(bench, i);
  bench.pass(bench.settings.quiet + std::chrono::seconds{1}, {1, 2});
  bench.open_store();
  bench.prepare_all();
  REQUIRE(bench.host.phase == Phase::running);
  bench.clear();
  join_listening(bench, 3);
  bench.pass(bench.settings.quiet + std::chrono::seconds{1}, {1, 2, 3});
  REQUIRE(bench.host.phase == Phase::forming);
  bench.open_store();
  CHECK(asked(bench, 2) == Targets{kStore, listener(3)});
  CHECK(asked(bench, 3) == Targets{kStore, listener(2)});
}

TEST_CASE("a listener is dialled where it is, not at another address of its node", "[membership]") {
  // The rendezvous was reached by routed networks; the workers share a second one.
  HostBench bench(3);
  for (std::uint64_t i : {1u, 2u, 3u}) {
    auto const text = std::to_string(i);
    join_listening(bench, i,
                   {{"m", "10.0.0." + text, 32, false}, {"d", "10.70.0." + text, 24, false}});
  }
  bench.open_store();
  ProbeTarget const store{"n1", "10.70.0.1", 4000, true};
  CHECK(asked(bench, 1).empty());
  CHECK(asked(bench, 2) == Targets{store});
  CHECK(asked(bench, 3) == Targets{store});
}

TEST_CASE("who cannot be reached is named by the addresses of the round", "[membership]") {
  HostBench bench(3);
  for (std::uint64_t i : {1u, 2u, 3u}) join_listening(bench, i);
  bench.open_store();
  std::vector<ProbeFailure> const failures{{listener(3), "connect: no answer within 2.0 s"}};
  for (std::uint32_t attempt : {0u, 1u}) {
    bench.say(2, Probed{RoundNumber{1}, attempt, failures});
    bench.pass(std::chrono::milliseconds{200}, {1, 2, 3});
  }
  REQUIRE(bench.host.ending);
  CHECK(
      bench.host.ending->outcome.why ==
      "host n2 (10.0.0.2) cannot reach host n3 at 10.0.0.3:29403: connect: no answer within 2.0 s");
}
