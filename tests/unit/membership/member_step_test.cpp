// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/membership/member_bench.hpp"

using namespace muster;
using namespace muster::membership;
using namespace muster::membership::member;
using namespace std::chrono_literals;

TEST_CASE("a member joins on every connection and renews its lease once welcome", "[membership]") {
  MemberBench bench;
  CHECK(bench.said<Join>().empty());
  bench.event(Connected{});
  CHECK(bench.said<Join>().size() == 1);
  CHECK(bench.said<Lease>().empty());
  bench.hear(Welcome{"head", bench.state.job});
  CHECK(bench.said<Lease>().size() == 1);
  bench.later(1s);
  CHECK(bench.said<Lease>().size() == 2);
  bench.event(Disconnected{});
  bench.event(Connected{});
  CHECK(bench.said<Join>().size() == 2);
}

TEST_CASE("workers start on COMMIT, not on PREPARE", "[membership]") {
  MemberBench bench;
  bench.welcome();
  auto const commit = bench.commit(1);
  bench.hear(Prepare{commit.record, {}});
  CHECK(bench.said<Prepared>().size() == 1);
  CHECK(bench.did<StartWorkers>().empty());
  bench.hear(commit);
  bench.hear(commit);  // said twice, started once
  CHECK(bench.did<StartWorkers>().size() == 1);
}

TEST_CASE("a round whose stop came first is not started", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.hear(Stop{RoundNumber{1}, std::nullopt, "x"});
  CHECK(bench.said<Stopped>().size() == 1);
  bench.hear(bench.commit(1));
  CHECK(bench.did<StartWorkers>().empty());
  bench.hear(bench.commit(2));
  CHECK(bench.did<StartWorkers>().size() == 1);
}

TEST_CASE("a stop is carried out once and answered when the workers are dead", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.clear();
  bench.hear(Stop{RoundNumber{1}, std::int64_t{5}, "x"});
  bench.hear(Stop{RoundNumber{1}, std::int64_t{5}, "x"});
  REQUIRE(bench.did<StopWorkers>().size() == 1);
  CHECK(bench.did<StopWorkers>()[0].grace == Duration{5});
  CHECK(bench.said<Stopped>().empty());
  bench.event(WorkersStopped{RoundNumber{1}, 0});
  CHECK(bench.said<Stopped>().at(0).round == RoundNumber{1});
  bench.hear(Stop{RoundNumber{1}, std::int64_t{5}, "x"});
  CHECK(bench.said<Stopped>().size() == 2);
  CHECK(status_of(bench.state).stopped == RoundNumber{1});
}

TEST_CASE("a store is opened once a round and its port said again", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.hear(OpenStore{RoundNumber{1}, "", {}});
  bench.hear(OpenStore{RoundNumber{1}, "", {}});
  CHECK(bench.did<OpenStoreNow>().size() == 1);
  bench.event(StoreIsOpen{{RoundNumber{1}, 4000, {}}});
  bench.hear(OpenStore{RoundNumber{1}, "", {}});
  CHECK(bench.said<StoreOpened>().size() == 2);
  CHECK(bench.did<OpenStoreNow>().size() == 1);
}

TEST_CASE("a store that is open takes more peers and is never opened anew", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.hear(OpenStore{RoundNumber{1}, "10.0.0.7", {"10.0.0.8"}});
  bench.hear(OpenStore{RoundNumber{1}, "", {"10.0.0.9"}});
  REQUIRE(bench.did<AdmitToStore>().size() == 1);
  CHECK(bench.did<AdmitToStore>()[0].wish.peers == std::vector<std::string>{"10.0.0.9"});
  bench.hear(bench.commit(1));
  SECTION("by a host that was not there when it was opened") {
    bench.epoch = Epoch{2};
    bench.welcome(8);
    bench.hear(OpenStore{RoundNumber{1}, "", {"10.0.0.9"}}, 8);
    CHECK(bench.did<AdmitToStore>().size() == 2);
  }
  SECTION("of a round that is over: nothing") {
    bench.hear(bench.commit(2));
    bench.hear(OpenStore{RoundNumber{1}, "", {"10.0.0.9"}});
    CHECK(bench.did<AdmitToStore>().size() == 1);
  }
  CHECK(bench.did<OpenStoreNow>().size() == 1);
}

TEST_CASE("a failure is said with its age until the host has seen it", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.clear();
  bench.event(WorkersFailed{{RoundNumber{1}, 9, false, 0, "r"}, bench.now - 30ms});
  CHECK(bench.said<Failed>().at(0).failure.age_ns == 30'000'000);
  bench.later(1s);
  REQUIRE(bench.said<Failed>().size() == 2);
  CHECK(bench.said<Failed>()[1].failure.age_ns == 1'030'000'000);
  bench.hear(Ack{bench.now.time_since_epoch().count(), 0, 0, 0, RoundNumber{1}});
  bench.later(1s);
  CHECK(bench.said<Failed>().size() == 2);
}

TEST_CASE("a failure that one host saw is told to the next one", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.event(WorkersFailed{{RoundNumber{1}, 9, false, 0, "r"}, bench.now});
  bench.hear(Ack{bench.now.time_since_epoch().count(), 0, 0, 0, RoundNumber{1}});
  bench.clear();
  bench.epoch = Epoch{2};
  bench.welcome(8);
  CHECK(bench.said<Failed>().size() == 1);
}

TEST_CASE("without succession an unacknowledged member fences, then gives its host up",
          "[membership]") {
  MemberBench bench;
  bench.state.job.succession = false;
  bench.run();
  bench.pass(10s);
  CHECK(bench.state.phase == MemberPhase::taking_part);
  bench.silence(3800ms);
  CHECK(bench.did<StopWorkers>().empty());
  bench.silence(500ms);
  REQUIRE(bench.did<StopWorkers>().size() == 1);
  CHECK(bench.did<StopWorkers>()[0].grace == Duration::zero());
  CHECK(bench.did<Conclude>().empty());
  bench.silence(1s);
  REQUIRE(bench.did<Conclude>().size() == 1);
  CHECK(bench.did<Conclude>()[0].outcome.exit_code == exit_code_of(Errc::lost_quorum));
  CHECK(bench.did<Conclude>()[0].outcome.why.find("rendezvous host head") != std::string::npos);
}

TEST_CASE("a lease counts from when the host was last certain of its own reign", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  auto const sent = bench.now;
  bench.hear(Ack{sent.time_since_epoch().count(), 0, Duration{3s}.count(), 0, {}});
  CHECK(bench.state.acked < sent);
  for (int i = 0; i < 40; ++i) {  // a host without a majority acknowledges for ever
    bench.later(100ms);
    bench.hear(Ack{bench.now.time_since_epoch().count(), 0, (bench.now - sent).count(), 0, {}});
  }
  CHECK_FALSE(bench.did<StopWorkers>().empty());
}

TEST_CASE("while the host is silent a majority of voters keeps the lease", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.event(Disconnected{});
  for (int i = 0; i < 100; ++i) {
    bench.clear();
    bench.later(100ms);
    for (auto const& ask : bench.called<Ask>(8)) bench.peer(8, Answer{ask.stamp_ns, true});
    REQUIRE(bench.did<StopWorkers>().empty());
  }
}

TEST_CASE("who has prepared a record needs a quorum of that one, too, to keep its lease",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  auto next = bench.record(2);
  next.nodes = next.world_size = 5;
  next.voters.push_back({Incarnation{9}, "n9", "10.0.0.9", 9});
  next.voters.push_back({Incarnation{10}, "n10", "10.0.0.10", 10});
  bench.hear(Prepare{next, {electorate_of(bench.record(1))}});
  bench.event(Disconnected{});
  bench.clear();
  auto const also_nine = GENERATE(false, true);
  for (int i = 0; i < 100; ++i) {
    bench.later(100ms);
    for (auto const& ask : bench.called<Ask>(8)) {
      CHECK(ask.prepared == RoundNumber{2});
      bench.peer(8, Answer{ask.stamp_ns, true});
      if (also_nine) bench.peer(9, Answer{ask.stamp_ns, true});
    }
  }
  CHECK_FALSE(bench.called<Ask>(10).empty());
  CHECK(bench.did<StopWorkers>().empty() == also_nine);
}

TEST_CASE("one voter of three keeps nobody's lease", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.event(Disconnected{});
  bench.silence(4500ms);
  CHECK_FALSE(bench.called<Ask>(8).empty());
  CHECK(bench.did<StopWorkers>().size() == 1);
  CHECK(bench.did<Conclude>().empty());  // it waits for a majority
  bench.silence(2s);
  CHECK(bench.did<StopWorkers>().size() == 1);
  bench.silence(60s);
  CHECK(bench.did<Conclude>().at(0).outcome.exit_code == exit_code_of(Errc::lost_quorum));
}

TEST_CASE("a fenced member whose host comes back reports its workers' end", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.silence(4300ms);
  REQUIRE(bench.did<StopWorkers>().size() == 1);
  bench.event(WorkersStopped{RoundNumber{1}, 0});
  bench.clear();
  bench.acknowledge();
  bench.later(1s);
  REQUIRE_FALSE(bench.said<Failed>().empty());
  CHECK(bench.said<Failed>()[0].failure.exit_code == exit_code_of(Errc::fenced));
}

TEST_CASE("a COMMIT without a lease is given back, and the lease asked for at once",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.silence(4300ms);
  bench.event(WorkersStopped{RoundNumber{1}, 0});
  bench.clear();
  bench.hear(bench.commit(2));
  CHECK(bench.did<StartWorkers>().empty());
  CHECK(bench.said<Failed>().at(0).failure.exit_code == exit_code_of(Errc::fenced));
  REQUIRE(bench.said<Lease>().size() == 1);
  bench.acknowledge(bench.said<Lease>()[0].stamp_ns);
  bench.hear(bench.commit(3));
  CHECK(bench.did<StartWorkers>().size() == 1);
}

TEST_CASE("an agent that was stopped for a while stops its workers and asks before it kills",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.later(30s);  // SIGSTOP, SIGCONT
  CHECK(bench.did<StopWorkers>().empty());
  CHECK(bench.did<PauseWorkers>().size() == 1);
  auto const leases = bench.said<Lease>();
  REQUIRE_FALSE(leases.empty());
  bench.acknowledge(leases.back().stamp_ns);
  CHECK(bench.did<ResumeWorkers>().size() == 1);
  bench.clear();
  bench.pass(5s);
  CHECK(bench.state.phase == MemberPhase::taking_part);
  CHECK_FALSE(bench.state.fenced);
}

TEST_CASE("a machine whose every wake-up is late fences all the same", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  for (int i = 0; i < 5; ++i) bench.later(1500ms);
  CHECK(bench.did<StopWorkers>().size() == 1);
}

TEST_CASE("nobody answers: the join time ends with the endpoint named", "[membership]") {
  MemberBench bench;
  for (int i = 0; i < 61; ++i) bench.later(1s);
  REQUIRE(bench.did<GiveUp>().size() == 1);
  CHECK(bench.did<GiveUp>()[0].error.code == Errc::rendezvous_timeout);
  CHECK(bench.did<GiveUp>()[0].error.what.find("nobody answered at head:29400") !=
        std::string::npos);
}

TEST_CASE("a refusal and an outcome end the membership, once", "[membership]") {
  MemberBench bench;
  bench.welcome();
  SECTION("refused") {
    bench.hear(Refused{Errc::refused, "no", "hint"});
    bench.hear(Refused{Errc::refused, "no", "hint"});
    CHECK(bench.did<GiveUp>().size() == 1);
  }
  SECTION("outcome") {
    bench.hear(Outcome{true, 0, "", {}});
    bench.hear(Outcome{true, 0, "", {}});
    CHECK(bench.said<OutcomeAck>().size() == 2);
    CHECK(bench.did<Conclude>().empty());  // it stays for those who have not heard it
    bench.hear(Released{});
    CHECK(bench.did<Conclude>().size() == 1);
  }
}

TEST_CASE("who is refused by another than the host of its world goes on calling", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.event(Disconnected{});
  bench.event(Connected{});
  bench.clear();
  bench.hear(Refused{Errc::refused, "another job is here", "hint"}, 50);
  CHECK(bench.did<GiveUp>().empty());
  CHECK(bench.did<StopWorkers>().empty());
  CHECK(bench.did<Tell>().size() == 1);
  bench.event(Disconnected{});
  bench.welcome();
  bench.hear(Refused{Errc::refused, "no", "hint"});
  CHECK(bench.did<GiveUp>().size() == 1);
}

TEST_CASE("who is counted out where it has not been welcomed joins there as another one",
          "[membership]") {
  MemberBench bench;
  SECTION("before it had a host") {
    bench.event(Connected{});
    bench.hear(Evicted{"host head has counted this node out"});
  }
  SECTION("by the next host, with workers") {
    bench.run();
    bench.epoch = Epoch{2};
    bench.event(Connected{});
    bench.hear(Evicted{"the job went on without this node"}, 8);
    bench.event(WorkersStopped{RoundNumber{1}, 0});
  }
  CHECK(bench.did<CallHost>().size() == 1);
  CHECK(bench.did<GiveUp>().empty());
  bench.clear();
  bench.event(Connected{});
  REQUIRE(bench.said<Join>().size() == 1);
  CHECK(bench.said<Join>()[0].facts.incarnation == Incarnation{8});
  CHECK(bench.said<Join>()[0].status == Status{});
  CHECK(bench.said<Join>()[0].former == Incarnation{7});
}

TEST_CASE("whoever knows the outcome tells it to those who ask for the host", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.hear(Outcome{true, 0, "", {}});
  bench.event(Disconnected{});
  bench.peer(8, Ask{1});
  CHECK(bench.replied<Outcome>(8).at(0).success);
  bench.silence(8s);
  CHECK(bench.did<Conclude>().size() == 1);
}

TEST_CASE("an outcome heard from a peer is the job's", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.peer(8, Outcome{false, 7, "x", {}});
  CHECK(bench.did<Conclude>().at(0).outcome.exit_code == 7);
}

TEST_CASE("messages of an older reign are not obeyed", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.state.epoch = Epoch{3};
  bench.hear(bench.commit(1));
  CHECK(bench.did<StartWorkers>().empty());
}

TEST_CASE("a signal before anybody was met ends this agent at once", "[membership]") {
  MemberBench bench;
  bench.event(LeaveWanted{{130, "SIGINT"}});
  CHECK(bench.did<Conclude>().at(0).outcome.exit_code == 130);
}

TEST_CASE("a signal while a host does not answer ends this agent soon", "[membership]") {
  MemberBench bench;
  bench.event(Connected{});
  bench.event(LeaveWanted{{130, "SIGINT"}});
  CHECK(bench.did<Conclude>().empty());
  bench.later(5s);
  CHECK(bench.did<Conclude>().at(0).outcome.exit_code == 130);
}

TEST_CASE("a signal in a job is the host's to end", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.event(LeaveWanted{{143, "SIGTERM"}});
  CHECK(bench.said<Leave>().size() == 1);
  CHECK(bench.did<Conclude>().empty());
}

TEST_CASE("a round of the same number under a new reign starts nothing", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.epoch = Epoch{2};
  bench.welcome(8);
  bench.clear();
  bench.hear(bench.commit(1), 8);
  CHECK(bench.did<StartWorkers>().empty());
  CHECK(bench.state.voter.committed->epoch == Epoch{2});
}

TEST_CASE("the guardian's last word is prepared with every record and host", "[membership]") {
  MemberBench bench;
  bench.run();
  REQUIRE_FALSE(bench.did<KeepLastWord>().empty());
  CHECK(bench.did<KeepLastWord>().back() == KeepLastWord{{}, RoundNumber{1}, Epoch{1}});
  bench.hear(Prepare{bench.record(2), {}});
  CHECK(bench.did<KeepLastWord>().back().round == RoundNumber{2});
  bench.epoch = Epoch{2};  // the next host has the same record committed again
  bench.welcome(8);
  CHECK(bench.did<KeepLastWord>().back().epoch == Epoch{1});
  bench.hear(Prepare{bench.record(2), {}}, 8);
  CHECK(bench.did<KeepLastWord>().back() == KeepLastWord{{}, RoundNumber{2}, Epoch{2}});
  MemberBench fixed;
  fixed.state.job.succession = false;  // the host at least need not wait
  fixed.run();
  CHECK(fixed.did<KeepLastWord>().back().round == RoundNumber{1});
}

TEST_CASE("a node that was counted out kills its workers and comes again as another one",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.clear();
  bench.hear(Evicted{"silent"});
  REQUIRE(bench.did<StopWorkers>().size() == 1);
  CHECK(bench.did<CallHost>().empty());
  bench.event(WorkersStopped{RoundNumber{1}, 0});
  CHECK(bench.did<CallHost>().size() == 1);
  CHECK(bench.state.facts.incarnation == Incarnation{8});
  CHECK(status_of(bench.state) == Status{});
  CHECK_FALSE(bench.state.voter.committed);
}

TEST_CASE("a node that was counted out and cannot kill its workers does not come again",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.hear(Evicted{"silent"});
  bench.event(WorkersStopped{RoundNumber{1}, 2});
  REQUIRE(bench.did<GiveUp>().size() == 1);
  CHECK(bench.did<GiveUp>()[0].error.what.find("2 workers cannot be killed") != std::string::npos);
  CHECK(bench.did<CallHost>().empty());
}

TEST_CASE("the newest store is remembered, in whatever order two are opened", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.hear(OpenStore{RoundNumber{1}, "", {}});
  bench.hear(OpenStore{RoundNumber{2}, "", {}});
  bench.event(StoreIsOpen{StoreOpened{RoundNumber{2}, 22, {}}});
  bench.event(StoreIsOpen{StoreOpened{RoundNumber{1}, 11, {}}});
  bench.clear();
  bench.hear(OpenStore{RoundNumber{2}, "", {}});  // the answer was lost
  CHECK(bench.said<StoreOpened>().at(0).port == 22);
}
