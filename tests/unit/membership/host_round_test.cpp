// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/host_turn.hpp"
#include "tests/unit/membership/host_bench.hpp"

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

TEST_CASE("the round is sealed at once when all MAX are there", "[membership]") {
  HostBench bench(2);
  bench.join(2);
  CHECK(bench.host.phase == Phase::gathering);
  bench.join(1);
  CHECK(bench.last.why == Why{why::OpeningStore{RoundNumber{1}, "n1"}});
  CHECK(bench.to<OpenStore>(1).size() == 1);
  CHECK(bench.to<OpenStore>(2).empty());
}

TEST_CASE("below MAX the quiet period runs from the last newcomer", "[membership]") {
  HostBench bench;
  bench.settings.min_nodes = 2;
  bench.settings.max_nodes = 4;
  bench.join(1);
  bench.pass(4s, {1});
  CHECK(bench.host.phase == Phase::gathering);
  bench.join(2);
  bench.pass(2s, {1, 2});
  bench.join(3);
  CHECK(bench.last.why == Why{why::LastCall{3, 4, bench.now + 3s}});
  bench.pass(2900ms, {1, 2, 3});
  CHECK(bench.host.phase == Phase::gathering);
  bench.pass(200ms, {1, 2, 3});
  CHECK(bench.host.phase == Phase::forming);
}

TEST_CASE("newcomers prolong the quiet period ten times at most", "[membership]") {
  HostBench bench;
  bench.settings.min_nodes = 1;
  bench.settings.max_nodes = 100;
  std::vector<std::uint64_t> all;
  auto const begin = bench.now;
  for (std::uint64_t i = 1; bench.host.phase == Phase::gathering; ++i) {
    all.push_back(i);
    bench.join(i);
    bench.pass(2s, all);
  }
  CHECK(bench.now - begin >= 30s);
  CHECK(bench.now - begin <= 32s);
}

TEST_CASE("nobody starts before a quorum has prepared the record", "[membership]") {
  HostBench bench(3);
  for (std::uint64_t i : {1u, 2u, 3u}) bench.join(i);
  CHECK(bench.to<Prepare>(1).empty());
  bench.open_store();
  CHECK(bench.to<Prepare>(3).size() == 1);
  bench.answer_probes();
  bench.say(3, Prepared{RoundNumber{1}, {}});
  CHECK(bench.to<Commit>(3).empty());
  bench.say(2, Prepared{RoundNumber{1}, {}});
  REQUIRE(bench.to<Commit>(3).size() == 1);
  auto const commit = bench.to<Commit>(3)[0];
  CHECK(commit.row.group_rank == 2);
  CHECK(commit.record.master == MasterEndpoint{"10.0.0.1", 4000});
  CHECK(commit.record.world_size == 3);
  CHECK(commit.hosts == std::vector<std::string>{"n1", "n2", "n3"});
}

TEST_CASE("a failure within the budget restarts everybody, once", "[membership]") {
  HostBench bench(2);
  bench.settings.max_restarts = 1;
  bench.run(2);
  bench.say(1, Done{bench.round()});  // done ones start again, too
  bench.clear();
  bench.say(2, bench.failure(7));
  CHECK(bench.to<Stop>(1).size() == 1);
  CHECK(bench.to<Stop>(2).size() == 1);
  CHECK(bench.to<OpenStore>(1).size() == 1);  // while the old ones still stop
  bench.say(1, bench.failure(89, 0, true));
  CHECK(bench.host.used.worker_failures == 1);
  bench.open_store();
  bench.prepare_all();
  CHECK(bench.to<Commit>(1).empty());  // an old worker may be alive
  bench.say(1, Stopped{RoundNumber{1}, 0});
  CHECK(bench.to<Commit>(1).empty());
  bench.say(2, Stopped{RoundNumber{1}, 0});
  REQUIRE(bench.to<Commit>(1).size() == 1);
  auto const record = bench.to<Commit>(1)[0].record;
  CHECK(record.round == RoundNumber{2});
  CHECK(record.used.worker_failures == 1);
  CHECK(record.reason == Reason::worker_failure);
  CHECK(bench.host.failures.empty());
}

TEST_CASE("a store at a fixed port is renewed only when all old workers are dead", "[membership]") {
  HostBench bench(2);
  bench.settings.max_restarts = 1;
  bench.settings.store_at_endpoint = true;
  bench.run(2);
  bench.clear();
  bench.say(2, bench.failure(7));
  bench.say(1, Stopped{RoundNumber{1}, 0});
  CHECK(bench.to<OpenStore>(1).empty());
  bench.say(2, Stopped{RoundNumber{1}, 0});
  CHECK(bench.to<OpenStore>(1).size() == 1);
}

TEST_CASE("a node lost while the first round forms sends the others back to gathering",
          "[membership]") {
  HostBench bench(2);
  bench.join(1);
  bench.join(2);
  bench.event(Died{Incarnation{2}, {}});
  CHECK(bench.host.phase == Phase::gathering);
  bench.join(3);
  CHECK(bench.host.phase == Phase::forming);
  CHECK(bench.host.proposal->record.round == RoundNumber{2});  // numbers never repeat
}

TEST_CASE("too few in time: all who came are told who came", "[membership]") {
  HostBench bench(3);
  bench.settings.join_timeout = 10s;
  bench.join(1);
  bench.join(2);
  bench.pass(11s, {1, 2});
  REQUIRE_FALSE(bench.to<Refused>(2).empty());
  CHECK(bench.to<Refused>(2)[0].code == Errc::rendezvous_timeout);
  CHECK(bench.to<Refused>(2)[0].what.find("2 of 3 nodes joined in 10.0 s: n1, n2") !=
        std::string::npos);
  CHECK(bench.to<Refused>(2)[0].hint.find("--nnodes=2:") != std::string::npos);
  CHECK(bench.finished);
}

TEST_CASE("nobody starts before each node has reached the store", "[membership]") {
  HostBench bench(2);
  bench.join(1);
  bench.join(2);
  bench.open_store();
  REQUIRE(bench.to<Probe>(2).size() == 1);
  auto const target = bench.to<Probe>(2)[0].targets.at(0);
  CHECK(target == ProbeTarget{"n1", "10.0.0.1", 4000, true});
  CHECK(bench.to<Probe>(1).empty());  // n2 has no listener of its own
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Prepared{RoundNumber{1}, {}});
  CHECK(bench.to<Commit>(1).empty());
  SECTION("reached") {
    bench.say(2, Probed{RoundNumber{1}, 0, {}});
    CHECK(bench.to<Commit>(1).size() == 1);
  }
  SECTION("not reached, twice, though both are alive: the pair is named") {
    std::vector<ProbeFailure> const failures{{target, "connect: No route to host"}};
    bench.clear();
    bench.say(2, Probed{RoundNumber{1}, 0, failures});
    bench.pass(200ms, {2});
    CHECK(bench.to<Probe>(2).empty());  // the other one may be dying
    bench.pass(200ms, {1, 2});
    REQUIRE_FALSE(bench.to<Probe>(2).empty());
    CHECK(bench.to<Probe>(2).back().attempt == 1);
    bench.say(2, Probed{RoundNumber{1}, 1, failures});
    CHECK(bench.host.phase == Phase::forming);
    bench.pass(100ms, {1, 2});
    REQUIRE(bench.host.ending);
    CHECK(bench.host.ending->outcome.exit_code == exit_code_of(Errc::refused));
    auto const& why = bench.host.ending->outcome.why;
    CHECK(why.find("n2") != std::string::npos);
    CHECK(why.find("10.0.0.1:4000") != std::string::npos);
  }
  SECTION("not reached because it dies: a new round without it") {
    bench.settings.min_nodes = 1;
    bench.say(2, Probed{RoundNumber{1}, 0, {{target, "connect: timed out"}}});
    bench.event(Died{Incarnation{1}, {}});
    CHECK_FALSE(bench.host.ending);
  }
  SECTION("asked again with the next lease") {
    bench.clear();
    bench.lease(2);
    CHECK(bench.to<Probe>(2).size() == 1);
    CHECK(bench.to<Probe>(1).empty());
  }
}

TEST_CASE("a store that cannot be opened ends the job with the reason", "[membership]") {
  HostBench bench(2);
  bench.join(1);
  bench.join(2);
  bench.say(1, StoreOpened{RoundNumber{1}, 0, "port 29500 is taken"});
  CHECK(bench.to<Outcome>(2).at(0).why.find("29500") != std::string::npos);
}

TEST_CASE("a node's address is one that its peers reached", "[membership]") {
  auto const member = [](std::string reached) {
    Member made;
    made.reached_at = std::move(reached);
    return made;
  };
  auto const facts = [](std::string address) {
    NodeFacts made;
    made.address = std::move(address);
    return made;
  };
  Roster members, alone;
  for (auto* roster : {&members, &alone}) {
    roster->put(Incarnation{1}, member(""));
    roster->put(Incarnation{2}, member("127.0.0.1"));
  }
  members.put(Incarnation{3}, member("10.0.0.1"));
  // It came from elsewhere: its own address.
  CHECK(reachable_address(Incarnation{3}, facts("10.0.0.3"), members) == "10.0.0.3");
  // It is on the host's machine: what the others dialled.
  CHECK(reachable_address(Incarnation{1}, facts("127.0.0.1"), members) == "10.0.0.1");
  // All on one machine.
  CHECK(reachable_address(Incarnation{1}, facts(""), alone) == "127.0.0.1");
  CHECK(reachable_address(Incarnation{1}, facts("::1"), {}) == "::1");
  CHECK(is_loopback("127.3.2.1"));
  CHECK(is_loopback("::1"));
  CHECK_FALSE(is_loopback("10.0.0.1"));
}

TEST_CASE("the cause is the first real failure, not the first report", "[membership]") {
  auto const note = [](bool consequence, Duration at) {
    FailureNote made;
    made.failure.is_consequence = consequence;
    made.at = TimePoint{at};
    return made;
  };
  CHECK(root_cause({note(true, 1s), note(false, 3s), note(false, 2s)}) == 2);
  CHECK(root_cause({note(true, 2s), note(true, 1s)}) == 1);
  CHECK(root_cause({note(false, 1s)}) == 0);
}
