// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/host_step.hpp"

#include "tests/unit/membership/host_bench.hpp"

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

TEST_CASE("a newcomer is welcomed with the job's settings and told who is there", "[membership]") {
  HostBench bench(3);
  bench.settings.dead = 9s;
  bench.join(2);
  REQUIRE(bench.to<Welcome>(2).size() == 1);
  CHECK(bench.to<Welcome>(2)[0].job.dead == 9s);
  CHECK(bench.to<Waiting>(2).back().have == 1);
  bench.join(3);
  CHECK(bench.to<Waiting>(2).back().hosts == std::vector<std::string>{"n2", "n3"});
  CHECK(bench.last.why == Why{why::WaitingForNodes{2, 3, 3}});
}

TEST_CASE("a lease is acknowledged with its own stamp", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.clear();
  auto lease = bench.lease_of(2);
  lease.stamp_ns = 77;
  bench.say(2, lease);
  CHECK(bench.to<Ack>(2).at(0).stamp_ns == 77);
}

TEST_CASE("what a member lacks is said again with its next lease", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.clear();
  bench.lease(2, {RoundNumber{1}, {}, {}, {}, Epoch{1}, Epoch{1}});
  CHECK(bench.to<Commit>(2).size() == 1);
  bench.clear();
  bench.lease(2, {RoundNumber{1}, RoundNumber{1}, {}, {}, Epoch{1}, Epoch{1}});
  CHECK(bench.to<Commit>(2).empty());
}

TEST_CASE("a lease says for itself what a lost message had said", "[membership]") {
  HostBench bench;
  bench.settings.max_restarts = 1;
  bench.run(2);
  bench.say(2, bench.failure(1));
  auto const old = bench.round();
  bench.lease(1, {{}, old, old, {}, Epoch{1}, Epoch{1}});
  bench.lease(2, {{}, old, old, {}, Epoch{1}, Epoch{1}});
  bench.open_store();
  bench.answer_probes();
  auto const next = bench.host.proposal->record.round;
  bench.lease(1, {next, old, old, {}, Epoch{1}, Epoch{1}});
  bench.lease(2, {next, old, old, {}, Epoch{1}, Epoch{1}});
  CHECK(bench.host.phase == Phase::running);
  CHECK(bench.round() == next);
  bench.lease(1, {next, next, old, next, Epoch{1}, Epoch{1}});
  bench.lease(2, {next, next, old, next, Epoch{1}, Epoch{1}});
  CHECK(bench.host.phase == Phase::concluding);
  CHECK(bench.host.ending->outcome.success);
}

TEST_CASE("a member that calls again is no newcomer", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.clear();
  bench.event(Disconnected{Incarnation{2}});
  CHECK(bench.sends.empty());  // proves nothing
  bench.join(2);
  CHECK(bench.to<Welcome>(2).size() == 1);
  CHECK(bench.to<Commit>(2).size() == 1);
  CHECK(bench.to<Refused>(2).empty());
}

TEST_CASE("a silent member is lost, a talking one never", "[membership]") {
  HostBench bench(3);
  bench.settings.min_nodes = 2;
  bench.run(3);
  bench.pass(30s, {1, 2, 3});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(4900ms, {1, 2});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(400ms, {1, 2});
  CHECK(bench.host.phase == Phase::forming);
  CHECK(bench.host.change_why.find("node n3 is lost: silent for 5") == 0);
  CHECK_FALSE(bench.to<Stop>(1).empty());
  CHECK_FALSE(bench.to<Stop>(2).empty());
}

TEST_CASE("where the job cannot go on without it a silent member has a minute", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  bench.pass(10s, {1, 2});
  CHECK(bench.to<Ack>(2).back().dead_ns == Duration{60s}.count());
  bench.clear();
  bench.pass(59s, {1});
  CHECK(bench.host.phase == Phase::running);
  CHECK(bench.to<Waiting>(1).at(0).text.find("node n2 is silent for 5") == 0);
  bench.pass(2s, {1});
  CHECK(bench.host.phase == Phase::gathering);
}

TEST_CASE("a proof of death needs no waiting", "[membership]") {
  HostBench bench(3);
  bench.settings.min_nodes = 2;
  bench.run(3);
  SECTION("told by the shell") {
    bench.event(Died{Incarnation{3}, RoundNumber{1}});
  }
  SECTION("as a guardian's last word") {
    bench.say(9, LastWord{Incarnation{3}});
  }
  CHECK(bench.host.phase == Phase::forming);
  CHECK(bench.host.ghosts.empty());
  CHECK(bench.host.proven_dead.contains(Incarnation{3}));
}

TEST_CASE("a last word from beyond what the host knows is no proof for its quorum",
          "[membership]") {
  HostBench bench(3);
  bench.settings.min_nodes = 2;
  bench.run(3);
  SECTION("of a later round") {
    bench.event(Died{Incarnation{3}, RoundNumber{9}, Epoch{1}});
  }
  SECTION("of a later reign") {
    bench.event(Died{Incarnation{3}, RoundNumber{1}, Epoch{2}});
  }
  CHECK(bench.host.phase == Phase::forming);
  CHECK_FALSE(bench.host.proven_dead.contains(Incarnation{3}));
}

TEST_CASE("a host that was not running evicts nobody for it", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.tick(250ms);
  bench.tick(20s);
  CHECK(bench.host.phase == Phase::running);
  bench.pass(10s, {1, 2});
  CHECK(bench.host.phase == Phase::running);
}

TEST_CASE("what was said to an older reign is not heard", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.clear();
  bench.event(Received{
      {"job", Generation{1}, Epoch{0}, {}, Incarnation{2}, 0}, Done{bench.round()}, "", ""});
  CHECK(bench.host.to_finish.contains(Incarnation{2}));
}

TEST_CASE("whoever thinks it belongs to the job hears that it does not", "[membership]") {
  HostBench bench;
  bench.say(9, Lease{});
  CHECK(bench.to<Evicted>(9).size() == 1);
  bench.clear();
  bench.say(9, Done{});
  CHECK(bench.sends.empty());
}

TEST_CASE("a newcomer that leaves frees its seat, and is told its own reason", "[membership]") {
  HostBench bench(3);
  bench.join(1);
  bench.join(2);
  bench.say(2, Leave{130, "SIGINT"});
  CHECK(bench.to<Outcome>(2).at(0).exit_code == 130);
  CHECK(bench.host.members.size() == 1);
  CHECK(bench.host.phase == Phase::gathering);
}

TEST_CASE("a host that leaves before the first round ends nobody's job but its own",
          "[membership]") {
  HostBench bench(3);
  bench.settings.min_nodes = 2;
  bench.join(1);
  bench.join(2);
  SECTION("where enough stay, who look for another host") {
    bench.join(3);
    CHECK(bench.host.phase == Phase::forming);
    bench.say(1, Leave{143, "SIGTERM"});
    CHECK(bench.to<Outcome>(1).at(0).exit_code == 143);
    CHECK(bench.to<Outcome>(2).empty());
    CHECK(bench.finished);
  }
  SECTION("where it is needed, all end as it did") {
    bench.say(1, Leave{143, "SIGTERM"});
    bench.say(1, Stopped{});
    bench.say(2, Stopped{});
    CHECK(bench.to<Outcome>(2).at(0).exit_code == 143);
  }
}

TEST_CASE("a member that leaves a job that needs it ends it for all", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.say(2, Leave{143, "SIGTERM"});
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Stopped{bench.round(), 0});
  bench.prepare_all();
  CHECK(bench.to<Outcome>(1).at(0).exit_code == 143);
}
