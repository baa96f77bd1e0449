// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/membership/host_bench.hpp"

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

TEST_CASE("success is committed, told, acknowledged, and only then is the host free",
          "[membership]") {
  HostBench bench(2);
  bench.run(2);
  bench.say(1, Done{bench.round()});
  CHECK(bench.host.phase == Phase::running);
  bench.clear();
  bench.say(2, Done{bench.round()});
  REQUIRE(bench.to<Prepare>(1).size() == 1);
  CHECK(bench.to<Prepare>(1)[0].record.outcome->success);
  CHECK(bench.to<Prepare>(1)[0].record.round == RoundNumber{2});
  CHECK(bench.to<Outcome>(1).empty());
  bench.prepare_all();
  CHECK(bench.to<Outcome>(2).at(0).success);
  bench.say(1, OutcomeAck{});
  CHECK_FALSE(bench.finished);
  CHECK(bench.to<Released>(1).empty());
  bench.say(2, OutcomeAck{});
  CHECK(bench.finished);
  CHECK(bench.to<Released>(1).size() == 1);
  CHECK(bench.last.outcome == bench.to<Outcome>(1).at(0));  // for those that missed it
}

TEST_CASE("a member that was given up while the others are told is told when it calls again",
          "[membership]") {
  HostBench bench(2);
  bench.settings.dead_at_min = 2s;
  bench.settings.outcome_patience = 60s;
  bench.run(2);
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Done{bench.round()});
  bench.prepare_all();
  REQUIRE(bench.host.phase == Phase::telling);
  bench.pass(10s, {1});
  REQUIRE_FALSE(bench.host.members.contains(Incarnation{2}));
  bench.clear();
  auto join = bench.join_of(2);
  join.status.committed = bench.round();
  bench.say(2, join);
  CHECK(bench.to<Outcome>(2).at(0).success);
  CHECK(bench.to<Released>(2).size() == 1);
  CHECK(bench.to<Evicted>(2).empty());
}

TEST_CASE("a failure without budget ends the job with the cause's code and all reports",
          "[membership]") {
  HostBench bench(3);
  bench.run(3);
  bench.say(3, bench.failure(89, 0, true));
  bench.say(2, bench.failure(41, 10'000'000));
  bench.say(1, bench.failure(5, 0));
  for (std::uint64_t i : {1u, 2u, 3u}) bench.say(i, Stopped{bench.round(), 0});
  bench.prepare_all();
  auto const outcome = bench.to<Outcome>(3).at(0);
  CHECK(outcome.exit_code == 41);
  CHECK(outcome.why == "a worker failed on host n2");
  CHECK(outcome.reports == std::vector<std::string>{"report 41", "report 89", "report 5"});
}

TEST_CASE("the outcome waits for the stop of every worker", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  bench.say(2, bench.failure(1));
  bench.say(2, Stopped{bench.round(), 0});
  CHECK(bench.host.phase == Phase::ending);
  bench.say(1, Stopped{bench.round(), 0});
  CHECK(bench.host.phase == Phase::concluding);
}

TEST_CASE("ranks that only lost a peer are not blamed for its node's loss", "[membership]") {
  HostBench bench(3);
  bench.run(3);
  bench.say(1, bench.failure(89, 0, true));
  bench.pass(2s, {1, 2});
  CHECK(bench.host.phase == Phase::running);  // node 3 may have died, and may say of what
  SECTION("it falls silent") {
    bench.pass(3500ms, {1, 2});  // it never held the longer limit
    CHECK(bench.host.change_why.find("node n3 is lost: silent") == 0);
  }
  SECTION("its guardian tells of its death") {
    bench.event(Died{Incarnation{3}, bench.round()});
    CHECK(bench.host.change_why.find("node n3 is lost: its agent is gone") == 0);
  }
  CHECK(bench.host.phase == Phase::gathering);  // there is no budget, and none is needed
  CHECK(bench.host.used.worker_failures == 0);
}

TEST_CASE("a lost peer that no node knows of is charged once all have been heard again",
          "[membership]") {
  HostBench bench(3);
  bench.settings.max_restarts = 1;
  bench.run(3);
  bench.say(1, bench.failure(89, 0, true));
  bench.pass(900ms, {1, 2, 3});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(200ms, {1, 2, 3});
  CHECK(bench.host.phase != Phase::running);
  CHECK(bench.host.used.worker_failures == 1);
}

TEST_CASE("without a majority success is not promised", "[membership]") {
  HostBench bench(3);
  bench.run(3);
  for (std::uint64_t i : {1u, 2u, 3u}) bench.say(i, Done{bench.round()});
  auto const round = bench.host.proposal->record.round;
  bench.say(1, Prepared{round, {}});
  bench.now += 2s;
  bench.event(Tick{});
  auto const outcome = bench.to<Outcome>(1).at(0);
  CHECK_FALSE(outcome.success);
  CHECK(outcome.exit_code == exit_code_of(Errc::lost_quorum));
}

TEST_CASE("a host waits five seconds for acknowledgements and no longer", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Done{bench.round()});
  bench.prepare_all();
  bench.say(1, OutcomeAck{});
  bench.pass(4500ms, {1, 2});
  CHECK_FALSE(bench.finished);
  CHECK(bench.to<Outcome>(2).size() > 1);  // told again with every lease
  bench.pass(1s, {1, 2});
  CHECK(bench.finished);
}

TEST_CASE("a report that is too long is left out", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  auto big = bench.failure(1);
  big.failure.report.assign(kMaxReportBytes + 1, 'x');
  bench.say(1, big);
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Stopped{bench.round(), 0});
  bench.prepare_all();
  CHECK(bench.to<Outcome>(2).at(0).reports.empty());
}
