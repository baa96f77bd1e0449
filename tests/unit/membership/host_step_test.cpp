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
  bench.say(2, Lease{77, {}});
  CHECK(bench.to<Ack>(2).at(0).stamp_ns == 77);
}

TEST_CASE("what a member lacks is said again with its next lease", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.clear();
  bench.say(2, Lease{1, {RoundNumber{1}, {}, {}, {}}});
  CHECK(bench.to<Commit>(2).size() == 1);
  bench.clear();
  bench.say(2, Lease{1, {RoundNumber{1}, RoundNumber{1}, {}, {}}});
  CHECK(bench.to<Commit>(2).empty());
}

TEST_CASE("a lease says for itself what a lost message had said", "[membership]") {
  HostBench bench;
  bench.settings.max_restarts = 1;
  bench.run(2);
  bench.say(2, bench.failure(1));
  auto const old = bench.round();
  bench.say(1, Lease{1, {{}, old, old, {}}});
  bench.say(2, Lease{1, {{}, old, old, {}}});
  bench.open_store();
  auto const next = bench.host.proposal->record.round;
  bench.say(1, Lease{2, {next, old, old, {}}});
  bench.say(2, Lease{2, {next, old, old, {}}});
  CHECK(bench.host.phase == Phase::running);
  CHECK(bench.round() == next);
  bench.say(1, Lease{3, {next, next, old, next}});
  bench.say(2, Lease{3, {next, next, old, next}});
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

TEST_CASE("a silent member ends the job, a talking one never", "[membership]") {
  HostBench bench(3);
  bench.run(3);
  bench.pass(30s, {1, 2, 3});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(4900ms, {1, 2});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(400ms, {1, 2});
  CHECK(bench.host.phase == Phase::ending);
  CHECK(bench.host.ending->outcome.why.find("node n3 is lost: silent for 5") == 0);
  CHECK_FALSE(bench.to<Stop>(1).empty());
  CHECK_FALSE(bench.to<Stop>(2).empty());
}

TEST_CASE("a proof of death needs no waiting", "[membership]") {
  HostBench bench(3);
  bench.run(3);
  SECTION("told by the shell") {
    bench.event(Died{Incarnation{3}});
  }
  SECTION("as a guardian's last word") {
    bench.say(9, LastWord{Incarnation{3}});
  }
  CHECK(bench.host.phase == Phase::ending);
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

TEST_CASE("an older epoch is answered deposed", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.clear();
  bench.event(Received{{"job", Generation{1}, Epoch{0}, {}, Incarnation{2}, 0}, Lease{}, "", ""});
  CHECK(bench.to<Deposed>(2).at(0).epoch == Epoch{1});
}

TEST_CASE("strangers are not answered", "[membership]") {
  HostBench bench;
  bench.say(9, Lease{});
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

TEST_CASE("a member that leaves a running job ends it for all", "[membership]") {
  HostBench bench;
  bench.run(2);
  bench.say(2, Leave{143, "SIGTERM"});
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Stopped{bench.round()});
  bench.prepare_all();
  CHECK(bench.to<Outcome>(1).at(0).exit_code == 143);
}
