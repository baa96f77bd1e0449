// SPDX-License-Identifier: Apache-2.0
// Jobs whose nodes come and go.

#include "tests/unit/membership/host_bench.hpp"

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

namespace {

struct Elastic : HostBench {
  Elastic(std::uint32_t least, std::uint32_t most) : HostBench(most) { settings.min_nodes = least; }

  // n newcomers in a job that takes more; started once it is quiet.
  void start(std::uint64_t nodes) {
    for (std::uint64_t i = 1; i <= nodes; ++i) join(i);
    if (nodes < settings.max_nodes) pass(3100ms, ids(nodes));
    open_store();
    prepare_all();
    REQUIRE(host.phase == Phase::running);
    clear();
  }
  static std::vector<std::uint64_t> ids(std::uint64_t nodes) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 1; i <= nodes; ++i) all.push_back(i);
    return all;
  }
  std::uint32_t rank_of(std::uint64_t node) const {
    for (auto const& row : host.table)
      if (row.node == Incarnation{node}) return row.group_rank;
    return 999;
  }
};

}  // namespace

TEST_CASE("the others go on at once without a lost node, with dense ranks", "[membership]") {
  Elastic bench(2, 3);
  bench.start(3);
  bench.event(Died{Incarnation{1}, RoundNumber{1}});
  CHECK(bench.to<Stop>(2).size() == 1);
  bench.next_round({2, 3});
  auto const record = *bench.host.committed;
  CHECK(record.nodes == 2);
  CHECK(record.reason == Reason::member_lost);
  CHECK(record.used == Budgets{0, 1, 1});
  CHECK(record.repeat == 1);
}

TEST_CASE("a spare takes a lost node's place at once, and its rank", "[membership]") {
  Elastic bench(2, 2);
  bench.start(2);
  bench.join(3);
  CHECK(bench.to<Waiting>(3).back().text.find("standing by as a spare") == 0);
  CHECK(bench.host.phase == Phase::running);
  bench.event(Died{Incarnation{1}, RoundNumber{1}});
  bench.next_round({2});
  CHECK(bench.rank_of(3) == 0);
  CHECK(bench.rank_of(2) == 1);
}

TEST_CASE("a spare is told who votes, of each round", "[membership]") {
  Elastic bench(2, 2);
  bench.start(2);
  bench.join(4);
  bench.join(3);
  CHECK(bench.to<Waiting>(3).back().voters == bench.host.committed->voters);
  CHECK(bench.to<Waiting>(2).back().voters.empty());  // it has a place, and prepares records
  bench.event(Died{Incarnation{1}, RoundNumber{1}});
  bench.next_round({2});
  REQUIRE(bench.host.committed->round == RoundNumber{2});
  CHECK(bench.to<Waiting>(3).back().voters == bench.host.committed->voters);
}

TEST_CASE("with a spare at hand haste is worth it", "[membership]") {
  Elastic bench(2, 2);
  bench.start(2);
  bench.pass(2s, {1, 2});
  CHECK(bench.to<Ack>(2).back().dead_ns == Duration{60s}.count());
  bench.join(3);
  bench.pass(2s, {1, 2, 3});
  CHECK(bench.to<Ack>(2).back().dead_ns == Duration{5s}.count());
}

TEST_CASE("a limit shrinks only once the member goes by the shorter one", "[membership]") {
  Elastic bench(2, 2);
  bench.start(2);
  bench.join(3);
  auto lease = bench.lease_of(2);
  lease.dead_ns = Duration{60s}.count();
  bench.say(2, lease);
  bench.pass(20s, {1, 3});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(41s, {1, 3});
  CHECK(bench.host.phase == Phase::forming);
}

TEST_CASE("newcomers bring one round after a quiet moment", "[membership]") {
  Elastic bench(1, 4);
  bench.start(1);
  bench.join(2);
  bench.pass(2s, {1, 2});
  bench.join(3);
  bench.pass(2900ms, {1, 2, 3});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(200ms, {1, 2, 3});
  bench.next_round({1});
  CHECK(bench.host.committed->nodes == 3);
  CHECK(bench.host.committed->reason == Reason::member_joined);
  CHECK(bench.rank_of(1) == 0);
}

TEST_CASE("newcomers bring rounds no oftener than the scale interval", "[membership]") {
  Elastic bench(1, 4);
  bench.start(1);
  bench.join(2);
  bench.pass(3100ms, {1, 2});
  bench.next_round({1});
  bench.join(3);
  CHECK(bench.to<Waiting>(3).back().text ==
        "waiting to join 2 nodes that train; the next round begins in about 29.9 s");
  CHECK(bench.to<Waiting>(1).back().text == "node n3 has come, and waits");
  bench.pass(20s, {1, 2, 3});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(11s, {1, 2, 3});
  CHECK(bench.host.phase == Phase::forming);
}

TEST_CASE("nobody joins once somebody is done", "[membership]") {
  Elastic bench(1, 4);
  bench.start(2);
  bench.say(1, Done{bench.round()});
  bench.join(3);
  CHECK(bench.to<Waiting>(3).back().text.find("some of them are done") != std::string::npos);
  bench.pass(40s, {1, 2, 3});
  CHECK(bench.host.phase == Phase::running);
  bench.say(2, Done{bench.round()});
  bench.prepare_all();
  CHECK(bench.to<Outcome>(3).at(0).success);  // a spare ends well with its job
}

TEST_CASE("below the minimum the job holds, says who is missing, and ends by its deadline",
          "[membership]") {
  Elastic bench(2, 3);
  bench.settings.join_timeout = 20s;
  bench.start(2);
  bench.event(Died{Incarnation{2}, RoundNumber{1}});
  bench.say(1, Stopped{bench.round(), 0});
  REQUIRE_FALSE(bench.to<Waiting>(1).empty());
  auto const text = bench.to<Waiting>(1).back().text;
  CHECK(text.find("1 of at least 2 nodes are left (node n2 is lost") == 0);
  CHECK(text.find("20.0 s at most") != std::string::npos);
  SECTION("a newcomer in time") {
    bench.join(3);
    bench.open_store();
    bench.prepare_all();
    CHECK(bench.host.committed->nodes == 2);
  }
  SECTION("nobody in time") {
    bench.pass(20100ms, {1});
    bench.prepare_all();
    CHECK(bench.to<Outcome>(1).at(0).exit_code == exit_code_of(Errc::below_min));
  }
}

TEST_CASE("a node that leaves is released once the round without it is committed", "[membership]") {
  Elastic bench(1, 3);
  bench.start(3);
  bench.say(3, Leave{143, "SIGTERM"});
  CHECK(bench.to<Stop>(3).size() == 1);
  CHECK(bench.to<Outcome>(3).empty());
  auto const old = bench.round();
  bench.say(3, Stopped{old, 0});
  CHECK(bench.to<Outcome>(3).empty());  // its vote may be needed
  bench.next_round({1, 2});
  CHECK(bench.to<Outcome>(3).size() == 1);
  CHECK(bench.host.committed->reason == Reason::member_left);
  CHECK(bench.host.committed->nodes == 2);
}

TEST_CASE("a host that leaves is not told to stand by for a place", "[membership]") {
  Elastic bench(2, 2);
  bench.start(2);
  bench.join(3);
  bench.say(1, Leave{143, "told to end"});
  bench.clear();
  bench.next_round({1, 2});
  CHECK(bench.to<Waiting>(1).empty());
}

TEST_CASE("the record names the address at which the store was opened, whoever still leaves",
          "[membership]") {
  Elastic bench(1, 2);
  auto host = bench.join_of(1);
  host.facts.address = "127.0.0.1";  // an agent calls the host beside it by loopback
  bench.say(1, host);
  bench.join(2);
  bench.open_store();
  bench.prepare_all();
  CHECK(bench.to<OpenStore>(1).back().address == "10.0.0.1");  // what node 2 dialled
  CHECK(bench.host.committed->master.address == "10.0.0.1");
  bench.say(2, Leave{143, "SIGTERM"});
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Stopped{RoundNumber{1}, 0});
  bench.open_store();
  bench.answer_probes();
  for (std::uint64_t i : {1u, 2u}) bench.say(i, Prepared{RoundNumber{2}, {}});
  REQUIRE(bench.host.phase == Phase::running);
  CHECK(bench.host.committed->master.address == bench.to<OpenStore>(1).back().address);
}

TEST_CASE("a host that leaves hands over once the others' round is committed", "[membership]") {
  Elastic bench(1, 3);
  bench.start(3);
  bench.say(1, Leave{143, "SIGTERM"});
  for (std::uint64_t i : {1u, 2u, 3u}) bench.say(i, Stopped{RoundNumber{1}, 0});
  CHECK_FALSE(bench.finished);
  bench.open_store();
  bench.answer_probes();
  for (std::uint64_t i : {2u, 3u}) bench.say(i, Prepared{RoundNumber{2}, {}});
  CHECK(bench.to<Commit>(2).size() == 1);
  Status const has_it{RoundNumber{2}, RoundNumber{2}, RoundNumber{1}, {}, Epoch{1}, Epoch{1}};
  bench.lease(2, has_it);
  CHECK_FALSE(bench.finished);
  SECTION("all have the record") {
    bench.lease(3, has_it);
    CHECK(bench.to<Resigned>(3).size() == 1);
  }
  SECTION("or had their time") {
    bench.pass(5500ms, {2, 3});
  }
  CHECK(bench.finished);
  CHECK(bench.to<Outcome>(1).size() == 1);
}

TEST_CASE("a node that comes back as another process replaces its old self", "[membership]") {
  Elastic bench(1, 3);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    auto join = bench.join_of(i);
    join.facts.node_id = "pod-" + std::to_string(i);
    join.facts.given_rank = -1;
    bench.say(i, join);
  }
  bench.open_store();
  bench.prepare_all();
  auto again = bench.join_of(9);
  again.facts.node_id = "pod-2";
  again.facts.given_rank = -1;
  bench.say(9, again);
  CHECK(bench.to<Evicted>(2).size() == 1);
  for (std::uint64_t i : {1u, 3u}) bench.say(i, Stopped{bench.round(), 0});
  bench.open_store();
  bench.prepare_all();
  // The old workers may live until their lease is over.
  CHECK(bench.host.phase == Phase::forming);
  bench.pass(5100ms, {1, 3, 9});
  CHECK(bench.host.phase == Phase::running);
  CHECK(bench.host.committed->nodes == 3);
}

TEST_CASE("a node that comes back with the rank that it wished for replaces its old self",
          "[membership]") {
  Elastic bench(1, 3);
  auto const join_as = [&](std::uint64_t member, std::int32_t wish) {
    auto join = bench.join_of(member);
    join.facts.host = "n" + std::to_string(wish + 1);
    join.facts.given_rank = wish;
    bench.say(member, join);
  };
  for (std::uint64_t i = 1; i <= 3; ++i) join_as(i, static_cast<std::int32_t>(i) - 1);
  bench.open_store();
  bench.prepare_all();
  bench.event(Disconnected{Incarnation{2}});
  join_as(9, 1);
  CHECK(bench.to<Evicted>(2).size() == 1);
  CHECK(bench.to<Welcome>(9).size() == 1);
}

TEST_CASE("whoever was vouched for is not forgotten", "[membership]") {
  Elastic bench(1, 3);
  bench.start(3);
  bench.pass(4s, {1, 2});
  auto lease = bench.lease_of(2);
  lease.vouches = {{Incarnation{3}, Duration{1s}.count()}};
  bench.say(2, lease);
  bench.pass(3500ms, {1, 2});
  CHECK(bench.host.phase == Phase::running);
  bench.pass(700ms, {1, 2});
  CHECK(bench.host.phase == Phase::forming);
}

TEST_CASE("a failure is charged, a loss is not", "[membership]") {
  Elastic bench(1, 2);
  bench.settings.max_restarts = 1;
  bench.start(2);
  bench.say(2, bench.failure(5));
  bench.next_round({1, 2});
  bench.event(Died{Incarnation{2}, RoundNumber{2}});
  bench.next_round({1});
  CHECK(bench.host.used.worker_failures == 1);
  CHECK(bench.host.used.membership_changes == 1);
}

TEST_CASE("a lease that was lost is no failure of the workers", "[membership]") {
  Elastic bench(2, 2);
  bench.start(2);
  bench.say(2, bench.failure(exit_code_of(Errc::fenced)));
  bench.next_round({1, 2});
  CHECK(bench.host.used.worker_failures == 0);
}

TEST_CASE("rounds that end as soon as they begin end the job", "[membership]") {
  Elastic bench(1, 2);
  bench.start(2);
  std::uint64_t next = 3;
  for (std::uint32_t i = 0; i < kMostBriefRounds; ++i, ++next) {
    bench.join(next);
    auto const victim = bench.host.table.back().node;
    bench.event(Died{victim, bench.round()});
    bench.next_round({1});
  }
  bench.event(Died{bench.host.table.back().node, bench.round()});
  CHECK(bench.host.ending->outcome.exit_code == exit_code_of(Errc::no_progress));
}

TEST_CASE("membership changes have a limit of their own", "[membership]") {
  Elastic bench(1, 2);
  bench.settings.most_changes = 1;
  bench.start(2);
  bench.pass(20s, {1, 2});
  bench.event(Died{Incarnation{2}, bench.round()});
  bench.next_round({1});
  bench.join(3);
  bench.pass(31s, {1, 3});
  CHECK(bench.host.ending->outcome.exit_code == exit_code_of(Errc::budget_spent));
}

TEST_CASE("a worker that cannot be killed takes its node out of the job", "[membership]") {
  Elastic bench(1, 2);
  bench.settings.max_restarts = 1;
  bench.start(2);
  bench.say(1, bench.failure(5));
  bench.say(2, Stopped{bench.round(), 1});
  CHECK(bench.to<Refused>(2).at(0).what.find("cannot be killed") != std::string::npos);
  CHECK_FALSE(bench.host.members.contains(Incarnation{2}));
}

TEST_CASE("a host that was cut off from its voters acknowledges with its doubt", "[membership]") {
  Elastic bench(2, 3);
  bench.start(3);
  bench.pass(2s, {1, 2, 3});
  CHECK(Duration{bench.to<Ack>(1).back().quorum_age_ns} < 1s);
  bench.clear();
  bench.pass(4s, {1});
  CHECK(Duration{bench.to<Ack>(1).back().quorum_age_ns} > 3s);
}

TEST_CASE("a finished node that is lost is not missed, unless it holds the store", "[membership]") {
  Elastic bench(1, 3);
  bench.start(3);
  bench.say(3, Done{bench.round()});
  bench.event(Died{Incarnation{3}, bench.round()});
  CHECK(bench.host.phase == Phase::running);
  bench.say(1, Done{bench.round()});
  bench.event(Died{Incarnation{1}, bench.round()});
  CHECK(bench.host.phase == Phase::forming);
}

TEST_CASE("in a large job departures are told together, not each to all", "[membership]") {
  Elastic bench(60, 60);
  bench.start(60);
  for (std::uint64_t node = 51; node <= 60; ++node)
    bench.event(Died{Incarnation{node}, RoundNumber{1}});
  CHECK(bench.to<Stop>(2).size() == 1);
  bench.pass(600ms, Elastic::ids(50));
  auto const told = bench.to<Waiting>(2);
  REQUIRE(told.size() == 1);
  CHECK(told.front().have == 50);
}

TEST_CASE("of many newcomers only some are named", "[membership]") {
  Elastic bench(1, 200);
  bench.settings.scale_interval = 1s;
  bench.start(1);
  for (std::uint64_t node = 2; node <= 200; ++node) bench.join(node);
  bench.pass(4s, Elastic::ids(200));
  auto const stops = bench.to<Stop>(1);
  REQUIRE(!stops.empty());
  CHECK(stops.front().why.find("and 135 more joined") != std::string::npos);
}

TEST_CASE("in a large job a lease that crossed an order is no reason to repeat it",
          "[membership]") {
  Elastic bench(59, 60);
  bench.start(60);
  bench.event(Died{Incarnation{60}, RoundNumber{1}});
  bench.lease(2);
  CHECK(bench.to<Stop>(2).size() == 1);
  bench.now += 1s;
  bench.lease(2);
  CHECK(bench.to<Stop>(2).size() == 2);
}
