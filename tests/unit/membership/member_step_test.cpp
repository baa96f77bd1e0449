// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/member_step.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::membership;
using namespace muster::membership::member;
using namespace std::chrono_literals;

namespace {

struct Bench {
  MemberState state;
  TimePoint now{1'000s};
  std::vector<Effect> effects;  // since the last clear()

  Bench() {
    state.facts.incarnation = Incarnation{7};
    state.facts.host = "n7";
    state.run_id = "job";
    state.endpoint = "head:29400";
    state.job.join_timeout = 60s;
    take(member_start(state, now));
  }
  void take(std::vector<Effect> more) {
    for (auto& effect : more) effects.push_back(std::move(effect));
  }
  void event(Event const& happened) { take(member_step(state, happened, now)); }
  void hear(Message message) {
    event(Heard{{"job", Generation{1}, Epoch{1}, {}, Incarnation{1}, 0}, std::move(message)});
  }
  void later(Duration time) {
    now += time;
    event(Tick{});
  }
  void welcome() {
    event(Connected{});
    hear(Welcome{"head", state.job});
  }
  Commit commit(std::uint64_t round) const {
    Commit made;
    made.record.generation = Generation{1};
    made.record.epoch = Epoch{1};
    made.record.round = RoundNumber{round};
    made.row.node = state.facts.incarnation;
    return made;
  }
  // Time passes while the host acknowledges each lease.
  void pass(Duration time) {
    auto const end = now + time;
    while (now < end) {
      later(100ms);
      for (auto const& lease : said<Lease>()) hear(Ack{lease.stamp_ns, {}});
      clear();
    }
  }
  template <class M>
  std::vector<M> said() const {
    std::vector<M> found;
    for (auto const& effect : effects)
      if (auto const* say = std::get_if<Say>(&effect))
        if (auto const* message = std::get_if<M>(&say->message)) found.push_back(*message);
    return found;
  }
  template <class E>
  std::vector<E> did() const {
    std::vector<E> found;
    for (auto const& effect : effects)
      if (auto const* one = std::get_if<E>(&effect)) found.push_back(*one);
    return found;
  }
  void clear() { effects.clear(); }
};

}  // namespace

TEST_CASE("a member joins on every connection and renews its lease once welcome", "[membership]") {
  Bench bench;
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
  Bench bench;
  bench.welcome();
  auto const commit = bench.commit(1);
  bench.hear(Prepare{commit.record});
  CHECK(bench.said<Prepared>().size() == 1);
  CHECK(bench.did<StartWorkers>().empty());
  bench.hear(commit);
  bench.hear(commit);  // said twice, started once
  CHECK(bench.did<StartWorkers>().size() == 1);
}

TEST_CASE("a round whose stop came first is not started", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(Stop{RoundNumber{1}, std::nullopt, "x"});
  CHECK(bench.said<Stopped>().size() == 1);
  bench.hear(bench.commit(1));
  CHECK(bench.did<StartWorkers>().empty());
  bench.hear(bench.commit(2));
  CHECK(bench.did<StartWorkers>().size() == 1);
}

TEST_CASE("a stop is carried out once and answered when the workers are dead", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.clear();
  bench.hear(Stop{RoundNumber{1}, std::int64_t{5}, "x"});
  bench.hear(Stop{RoundNumber{1}, std::int64_t{5}, "x"});
  REQUIRE(bench.did<StopWorkers>().size() == 1);
  CHECK(bench.did<StopWorkers>()[0].grace == Duration{5});
  CHECK(bench.said<Stopped>().empty());
  bench.event(WorkersStopped{RoundNumber{1}});
  CHECK(bench.said<Stopped>().at(0).round == RoundNumber{1});
  bench.hear(Stop{RoundNumber{1}, std::int64_t{5}, "x"});
  CHECK(bench.said<Stopped>().size() == 2);
  CHECK(status_of(bench.state).stopped == RoundNumber{1});
}

TEST_CASE("a store is opened once a round and its port said again", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(OpenStore{RoundNumber{1}});
  bench.hear(OpenStore{RoundNumber{1}});
  CHECK(bench.did<OpenStoreNow>().size() == 1);
  bench.event(StoreIsOpen{{RoundNumber{1}, 4000, {}}});
  bench.hear(OpenStore{RoundNumber{1}});
  CHECK(bench.said<StoreOpened>().size() == 2);
  CHECK(bench.did<OpenStoreNow>().size() == 1);
}

TEST_CASE("a failure is said with its age until the host has seen it", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.clear();
  bench.event(WorkersFailed{{RoundNumber{1}, 9, false, 0, "r"}, bench.now - 30ms});
  CHECK(bench.said<Failed>().at(0).failure.age_ns == 30'000'000);
  bench.later(1s);
  REQUIRE(bench.said<Failed>().size() == 2);
  CHECK(bench.said<Failed>()[1].failure.age_ns == 1'030'000'000);
  bench.hear(Ack{bench.now.time_since_epoch().count(), RoundNumber{1}});
  bench.later(1s);
  CHECK(bench.said<Failed>().size() == 2);
}

TEST_CASE("an unacknowledged member fences, then gives its host up", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.pass(10s);
  CHECK(bench.state.phase == MemberPhase::taking_part);
  bench.clear();
  for (int i = 0; i < 39; ++i) bench.later(100ms);
  CHECK(bench.did<StopWorkers>().empty());
  for (int i = 0; i < 3; ++i) bench.later(100ms);
  REQUIRE(bench.did<StopWorkers>().size() == 1);
  CHECK(bench.did<StopWorkers>()[0].grace == Duration::zero());
  CHECK(bench.did<Conclude>().empty());
  for (int i = 0; i < 10; ++i) bench.later(100ms);
  REQUIRE(bench.did<Conclude>().size() == 1);
  CHECK(bench.did<Conclude>()[0].outcome.exit_code == exit_code_of(Errc::lost_quorum));
  CHECK(bench.did<Conclude>()[0].outcome.why.find("rendezvous host head") != std::string::npos);
}

TEST_CASE("a fenced member whose host comes back reports its workers' end", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.pass(2s);
  for (int i = 0; i < 43; ++i) bench.later(100ms);
  REQUIRE(bench.did<StopWorkers>().size() == 1);
  bench.event(WorkersStopped{RoundNumber{1}});
  bench.clear();
  bench.hear(Ack{bench.now.time_since_epoch().count(), {}});
  bench.later(1s);
  REQUIRE_FALSE(bench.said<Failed>().empty());
  CHECK(bench.said<Failed>()[0].failure.exit_code == exit_code_of(Errc::fenced));
}

TEST_CASE("an agent that was stopped for a while asks before it kills", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.pass(2s);
  bench.later(30s);  // SIGSTOP, SIGCONT
  CHECK(bench.did<StopWorkers>().empty());
  auto const leases = bench.said<Lease>();
  REQUIRE_FALSE(leases.empty());
  bench.hear(Ack{leases.back().stamp_ns, {}});
  bench.clear();
  bench.pass(5s);
  CHECK(bench.state.phase == MemberPhase::taking_part);
  CHECK_FALSE(bench.state.fenced);
}

TEST_CASE("a machine whose every wake-up is late fences all the same", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.pass(2s);
  for (int i = 0; i < 5; ++i) bench.later(1500ms);
  CHECK(bench.did<StopWorkers>().size() == 1);
  CHECK(bench.did<Conclude>().size() == 1);
}

TEST_CASE("nobody answers: the join time ends with the endpoint named", "[membership]") {
  Bench bench;
  for (int i = 0; i < 61; ++i) bench.later(1s);
  REQUIRE(bench.did<GiveUp>().size() == 1);
  CHECK(bench.did<GiveUp>()[0].error.code == Errc::rendezvous_timeout);
  CHECK(bench.did<GiveUp>()[0].error.what.find("nobody answered at head:29400") !=
        std::string::npos);
}

TEST_CASE("a refusal and an outcome end the membership, once", "[membership]") {
  Bench bench;
  bench.welcome();
  SECTION("refused") {
    bench.hear(Refused{Errc::refused, "no", "hint"});
    bench.hear(Refused{Errc::refused, "no", "hint"});
    CHECK(bench.did<GiveUp>().size() == 1);
  }
  SECTION("outcome") {
    bench.hear(Outcome{true, 0, "", {}});
    bench.hear(Outcome{true, 0, "", {}});
    CHECK(bench.did<Conclude>().size() == 1);
    CHECK(bench.said<OutcomeAck>().size() == 1);
  }
}

TEST_CASE("messages of an older reign are not obeyed", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.state.epoch = Epoch{3};
  bench.hear(bench.commit(1));
  CHECK(bench.did<StartWorkers>().empty());
}

TEST_CASE("a signal before anybody was met ends this agent at once", "[membership]") {
  Bench bench;
  bench.event(LeaveWanted{{130, "SIGINT"}});
  CHECK(bench.did<Conclude>().at(0).outcome.exit_code == 130);
}

TEST_CASE("a signal while a host does not answer ends this agent soon", "[membership]") {
  Bench bench;
  bench.event(Connected{});
  bench.event(LeaveWanted{{130, "SIGINT"}});
  CHECK(bench.did<Conclude>().empty());
  bench.later(5s);
  CHECK(bench.did<Conclude>().at(0).outcome.exit_code == 130);
}

TEST_CASE("a signal in a job is the host's to end", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(bench.commit(1));
  bench.event(LeaveWanted{{143, "SIGTERM"}});
  CHECK(bench.said<Leave>().size() == 1);
  CHECK(bench.did<Conclude>().empty());
}

TEST_CASE("a member answers for its voter", "[membership]") {
  Bench bench;
  bench.welcome();
  bench.hear(VoteRequest{Epoch{2}});
  CHECK(bench.said<VoteReply>().at(0).granted);
}
