// SPDX-License-Identifier: Apache-2.0
// Hosts that come after others.

#include "tests/unit/membership/succession.hpp"

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

TEST_CASE("a mandate needs a majority of the highest record's voters", "[membership]") {
  auto const record = record_of(4);
  Votes votes{{Incarnation{2}, vote(record, record)}, {Incarnation{3}, vote(record, record)}};
  CHECK_FALSE(mandate_of(votes));  // half, without the host
  votes[Incarnation{4}] = vote(record, record);
  CHECK(mandate_of(votes));
  votes.erase(Incarnation{4});
  votes[Incarnation{3}].gone = {Incarnation{1}};
  CHECK(mandate_of(votes));
}

TEST_CASE("a prepared record counts, and needs its own voters and those before", "[membership]") {
  auto const old = record_of(3);
  auto next = record_of(3, 4);
  next.voters[2].node = Incarnation{9};  // 3 was lost, 9 came
  Votes votes{{Incarnation{2}, vote(next, old, {electorate_of(old)})},
              {Incarnation{3}, vote(old, old)}};
  CHECK_FALSE(mandate_of(votes));  // 9 has not voted
  votes[Incarnation{9}] = vote(next, old, {electorate_of(old)});
  auto const mandate = mandate_of(votes);
  REQUIRE(mandate);
  CHECK(mandate->record.record.round == RoundNumber{4});
  votes.erase(Incarnation{3});
  CHECK_FALSE(mandate_of(votes));  // of the voters before, only one
}

TEST_CASE("what a record builds on was committed, also where its voters never heard of that",
          "[membership]") {
  auto const first = record_of(5);
  auto second = record_of(5, 4);
  second.voters.erase(second.voters.begin() + 1, second.voters.begin() + 3);  // 2 and 3 were lost
  auto third = second;
  third.round = RoundNumber{5};
  Votes votes;
  for (std::uint64_t i : {4u, 5u}) {
    auto& reply = votes[Incarnation{i}] = vote(third, first, {electorate_of(second)});
    reply.gone = {Incarnation{1}};
  }
  auto const mandate = mandate_of(votes);
  REQUIRE(mandate);
  CHECK(mandate->record.record.round == RoundNumber{5});
  CHECK(mandate->record.bases == std::vector{electorate_of(second)});
}

TEST_CASE("a successor is as patient as any round of the host before may have been",
          "[membership]") {
  HostBench bench(2);
  auto const old = record_of(5);
  auto const found = record_of(4, 5);
  auto const between = electorate_of(record_of(2, 4));  // a job of two, and no node to spare
  auto const seize = [&](Record const& committed, std::vector<Electorate> const& bases) {
    Votes votes;
    for (std::uint64_t i = 1; i <= 4; ++i) votes[Incarnation{i}] = vote(found, committed, bases);
    auto const mandate = mandate_of(votes);
    REQUIRE(mandate);
    bench.host = make_successor({"job", "n2", Incarnation{2}, Epoch{2}}, *mandate, bench.now,
                                bench.settings);
    return bench.host.members.at(Incarnation{3}).dead_sent;
  };
  CHECK(seize(old, {electorate_of(old)}) == bench.settings.dead);
  CHECK(seize(old, {between}) == bench.settings.dead_at_min);
  auto many = record_of(2, 4);  // of which two vote
  many.nodes = 40;
  CHECK(seize(many, {between}) == bench.settings.dead);
}

TEST_CASE("a successor that ends the job builds on what it found", "[membership]") {
  HostBench bench(3);  // none may leave
  auto const old = record_of(3);
  auto found = record_of(3, 4);
  found.voters[2].node = Incarnation{9};
  Votes votes;
  for (std::uint64_t i : {2u, 3u, 9u})
    votes[Incarnation{i}] = vote(found, old, {electorate_of(old)});
  bench.host = make_successor({"job", "n2", Incarnation{2}, Epoch{2}}, *mandate_of(votes),
                              bench.now, bench.settings);
  bench.say(2, returning(bench, 2));
  bench.say(9, returning(bench, 9));
  bench.clear();
  bench.say(2, Leave{143, "SIGTERM"});
  REQUIRE(bench.to<Prepare>(9).size() == 1);
  auto const prepare = bench.to<Prepare>(9)[0];
  CHECK(prepare.record.outcome);
  CHECK(prepare.record.round == RoundNumber{5});
  CHECK(prepare.record.voters == found.voters);
  CHECK(prepare.bases == std::vector{electorate_of(old), electorate_of(found)});
}

TEST_CASE("what was refused does not count", "[membership]") {
  auto const record = record_of(3);
  Votes votes{{Incarnation{2}, vote(record, record)},
              {Incarnation{3}, vote(record_of(3, 9), record)}};
  votes[Incarnation{3}].granted = false;
  CHECK_FALSE(mandate_of(votes));
}

TEST_CASE("a successor commits what it found before it counts anybody out", "[membership]") {
  HostBench bench(2);
  bench.settings.max_nodes = 3;
  take_over(bench, 3);
  bench.say(2, returning(bench, 2));
  bench.say(3, returning(bench, 3));
  CHECK(bench.to<Welcome>(3).size() == 1);
  REQUIRE(bench.to<Prepare>(3).size() == 1);
  bench.lease(3, returning(bench, 3).status);
  REQUIRE(bench.host.phase == Phase::resuming);
  bench.tick(1ms);
  CHECK(bench.host.members.contains(Incarnation{1}));
  bench.prepare_all();
  bench.tick(1ms);
  CHECK(bench.host.committed->epoch == Epoch{2});
  CHECK_FALSE(bench.host.members.contains(Incarnation{1}));
  CHECK(bench.to<Stop>(3).size() == 1);  // the lost host had workers
}

TEST_CASE("a host without workers is replaced without anybody noticing", "[membership]") {
  HostBench bench(2);
  auto record = record_of(2);
  record.host = Incarnation{99};  // a daemon
  Votes votes{{Incarnation{1}, vote(record, record)}, {Incarnation{2}, vote(record, record)}};
  auto const mandate = mandate_of(votes);
  REQUIRE(mandate);
  bench.host =
      make_successor({"job", "n2", Incarnation{2}, Epoch{2}}, *mandate, bench.now, bench.settings);
  bench.say(1, returning(bench, 1));
  bench.say(2, returning(bench, 2));
  bench.prepare_all();
  REQUIRE(bench.host.phase == Phase::running);
  bench.pass(120s, {1, 2});
  CHECK(bench.host.phase == Phase::running);
  CHECK(bench.to<Stop>(1).empty());
  CHECK(bench.host.used == record.used);
  bench.say(1, Done{RoundNumber{3}});
  bench.say(2, Done{RoundNumber{3}});
  CHECK(bench.host.ending->outcome.success);
}

TEST_CASE("a round that not all had begun is begun anew", "[membership]") {
  HostBench bench(2);
  auto const record = record_of(2);
  auto daemon = record;
  daemon.host = Incarnation{99};
  Votes votes{{Incarnation{1}, vote(daemon, daemon)}, {Incarnation{2}, vote(daemon, daemon)}};
  bench.host = make_successor({"job", "n2", Incarnation{2}, Epoch{2}}, *mandate_of(votes),
                              bench.now, bench.settings);
  bench.say(1, returning(bench, 1));
  bench.say(2, returning(bench, 2, 2));  // it never heard of round 3
  bench.prepare_all();
  CHECK(bench.host.change_why.find("being formed") != std::string::npos);
  CHECK(bench.host.used.worker_failures == 1);
}

TEST_CASE("whoever does not come back in time is a ghost, and when it comes stops and votes only",
          "[membership]") {
  HostBench bench(2);
  bench.settings.max_nodes = 5;
  take_over(bench, 5);
  for (std::uint64_t i : {2u, 3u, 4u}) bench.say(i, returning(bench, i));
  bench.prepare_all();
  bench.tick(1ms);
  REQUIRE(bench.host.phase == Phase::gathering);  // 1 is lost, 5 not back yet
  bench.pass(8s, {2, 3, 4});
  CHECK_FALSE(bench.host.members.contains(Incarnation{5}));
  CHECK(bench.host.phase == Phase::forming);
  bench.clear();
  bench.say(5, returning(bench, 5));
  CHECK(bench.to<Evicted>(5).empty());
  CHECK(bench.to<Stop>(5).size() == 1);
  CHECK(bench.host.members.at(Incarnation{5}).votes_only);
  CHECK(bench.host.ghosts.contains(Incarnation{5}));
  CHECK_FALSE(bench.host.proposal->table.size() == 5);
  bench.say(5, Lease{});  // from before it began the round, and long under way
  CHECK(bench.host.members.at(Incarnation{5}).votes_only);
  Lease stopped;
  stopped.status.stopped = bench.host.workers_round;
  bench.say(5, stopped);
  CHECK(bench.host.members.at(Incarnation{5}).is_eligible());
  CHECK_FALSE(bench.host.ghosts.contains(Incarnation{5}));
}

TEST_CASE("a successor that needs the dead waits for what they may have vouched for",
          "[membership]") {
  HostBench bench(2);
  bench.settings.max_nodes = 5;
  auto const record = record_of(5);
  Votes votes;
  for (std::uint64_t i : {2u, 3u}) {
    auto& reply = votes[Incarnation{i}] = vote(record, record);
    reply.gone = {Incarnation{1}, Incarnation{5}};
  }
  auto const mandate = mandate_of(votes);
  REQUIRE(mandate);
  bench.host =
      make_successor({"job", "n2", Incarnation{2}, Epoch{2}}, *mandate, bench.now, bench.settings);
  for (std::uint64_t i : {2u, 3u}) bench.say(i, returning(bench, i));
  bench.prepare_all();
  bench.pass(2100ms, {2, 3});  // 4 does not come
  REQUIRE(bench.host.phase == Phase::forming);
  for (std::uint64_t i : {2u, 3u}) bench.say(i, Stopped{bench.round(), 0});
  bench.open_store();
  bench.prepare_all();
  CHECK(bench.host.phase == Phase::forming);
  bench.pass(2800ms, {2, 3});
  CHECK(bench.host.phase == Phase::forming);
  bench.pass(200ms, {2, 3});
  CHECK(bench.host.phase == Phase::running);
}

TEST_CASE("an outcome that was prepared is told by the successor", "[membership]") {
  HostBench bench(2);
  auto record = record_of(2, 4);
  record.outcome = RecordOutcome{true, 0, ""};
  record.host = Incarnation{99};
  Votes votes{{Incarnation{1}, vote(record, record)}, {Incarnation{2}, vote(record, record)}};
  bench.host = make_successor({"job", "n2", Incarnation{2}, Epoch{2}}, *mandate_of(votes),
                              bench.now, bench.settings);
  bench.say(1, returning(bench, 1));
  bench.say(2, returning(bench, 2));
  bench.prepare_all();
  CHECK(bench.to<Outcome>(1).at(0).success);
}

TEST_CASE("a daemon that was started again asks its agents for their votes", "[membership]") {
  HostBench bench(2);
  bench.host.self = Incarnation{50};
  auto record = record_of(2);
  record.host = Incarnation{49};
  bench.say(1, returning(bench, 1));
  CHECK(bench.to<Welcome>(1).empty());
  REQUIRE(bench.to<VoteRequest>(1).size() == 1);
  CHECK(bench.to<VoteRequest>(1)[0].at_endpoint);
  bench.say(2, returning(bench, 2));
  auto const epoch = bench.to<VoteRequest>(1)[0].epoch;
  CHECK(epoch == Epoch{2});
  bench.say(1, vote(record, record));
  bench.say(2, vote(record, record));
  CHECK(bench.host.phase == Phase::resuming);
  CHECK(bench.to<Welcome>(1).size() == 1);
  bench.prepare_all();
  CHECK(bench.host.phase == Phase::running);
  CHECK(bench.to<Stop>(1).empty());
}

TEST_CASE("a newborn host gives way to one that has committed", "[membership]") {
  HostBench bench(3);
  bench.join(1);
  bench.join(2);
  HostIs const by{Generation{1}, Epoch{4}, {Incarnation{8}, "n8", "10.0.0.8", 8}, true};
  bench.event(Overruled{by});
  CHECK(bench.finished);
  CHECK(bench.last.successor == by);
  CHECK(bench.to<HostIs>(2).at(0) == by);
}

TEST_CASE("of two newborn hosts the one born first stays", "[membership]") {
  HostBench bench(3);
  bench.host.generation = Generation{5};
  bench.join(1);
  Seat const other{Incarnation{8}, "n8", "10.0.0.8", 8};
  bench.event(Overruled{{Generation{6}, Epoch{1}, other, false}});
  bench.event(Overruled{{Generation{5}, Epoch{1}, other, false}});
  CHECK_FALSE(bench.finished);
  bench.event(Overruled{{Generation{4}, Epoch{1}, other, false}});
  CHECK(bench.finished);
}

TEST_CASE("a host gives way to a later reign only", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  Seat const other{Incarnation{8}, "n8", "10.0.0.8", 8};
  bench.event(Overruled{{Generation{1}, Epoch{1}, other, true}});
  bench.event(Overruled{{Generation{9}, Epoch{5}, other, true}});
  CHECK_FALSE(bench.finished);
  bench.event(Overruled{{Generation{1}, Epoch{2}, other, true}});
  CHECK(bench.finished);
}

TEST_CASE("a host whose voters have promised themselves to nobody known asks for a later reign",
          "[membership]") {
  HostBench bench(2);
  bench.run(2);
  bench.clear();
  bench.say(2, HostIs{Generation{1}, Epoch{3}, {}, true});
  REQUIRE(bench.to<VoteRequest>(2).size() == 1);
  CHECK(bench.to<VoteRequest>(2)[0].epoch == Epoch{4});
  CHECK_FALSE(bench.finished);
}

// Seed 191964. Those that it had counted out when it committed the round have forgotten their
// votes.
TEST_CASE("a host that asks for a later reign knows what it has committed", "[membership]") {
  HostBench bench(2);
  bench.run(2);
  auto const before = record_of(5);  // of which the two are no quorum
  bench.say(2, HostIs{Generation{1}, Epoch{3}, {}, true});
  auto reply = vote(*bench.host.committed, before, {electorate_of(before)});
  reply.epoch = reply.promised = Epoch{4};
  reply.committed->round = RoundNumber{0};  // neither has accepted its COMMIT
  for (auto const voter : {1, 2}) bench.say(static_cast<std::uint64_t>(voter), reply);
  CHECK(bench.host.epoch == Epoch{4});
}

TEST_CASE(
    "a host that renews its reign keeps its table, whatever its members said when they joined",
    "[membership]") {
  HostBench bench(2);
  bench.run(2);
  auto const table = bench.host.table;
  for (auto const& row : table) {
    auto& member = bench.host.members.at(row.node);
    member.status.committed = RoundNumber{1};
    member.row = table[0];  // both had that rank once
    member.row->node = row.node;
  }
  bench.say(2, HostIs{Generation{1}, Epoch{3}, {}, true});
  auto reply = vote(*bench.host.committed, *bench.host.committed);
  reply.epoch = reply.promised = Epoch{4};
  for (auto const voter : {1, 2}) bench.say(static_cast<std::uint64_t>(voter), reply);
  REQUIRE(bench.host.epoch == Epoch{4});
  CHECK(bench.host.table == table);
}

TEST_CASE("a promise to the reign that it asks for makes no host ask for a later one",
          "[membership]") {
  HostBench bench(4);
  bench.run(4);
  bench.say(2, HostIs{Generation{1}, Epoch{3}, {}, true});
  REQUIRE(bench.host.inquiry->epoch == Epoch{4});
  auto reply = vote(*bench.host.committed, *bench.host.committed);
  reply.epoch = reply.promised = Epoch{4};
  bench.say(2, reply);
  bench.say(2, HostIs{Generation{1}, Epoch{4}, {}, true});  // to an old PREPARE
  reply.granted = false;
  bench.say(2, reply);  // asked twice
  CHECK(bench.host.inquiry->epoch == Epoch{4});
  bench.say(3, reply);  // to somebody else
  CHECK(bench.host.inquiry->epoch == Epoch{5});
}

TEST_CASE("a daemon that is told to end hands its jobs over", "[membership]") {
  HostBench bench(2);
  bench.host.self = Incarnation{50};
  bench.run(2);
  bench.event(ResignWanted{});
  CHECK(bench.to<Resigned>(1).size() == 1);
  CHECK(bench.finished);
}
