// SPDX-License-Identifier: Apache-2.0
// What the shared state asks of an agent, beside agents of torchrun.
#include "tests/unit/torchrun/peer_bench.hpp"

using namespace muster;
using namespace muster::torchrun;
using namespace std::chrono_literals;

namespace {

NodeDesc const kT = PeerBench::torch_node("t");
NodeDesc const kU = PeerBench::torch_node("u");

// a, of muster, and t (with u) of torchrun in round 0.
struct Mixed : PeerBench {
  explicit Mixed(std::uint32_t least, std::uint32_t most, bool with_u = false)
      : PeerBench(least, most) {
    settings.max_restarts = 3;
    start("a");
    join_as_torchrun(kT);
    if (with_u) join_as_torchrun(kU);
    pass_beating(35s, others(with_u));
    REQUIRE(runs(a()));
  }
  Peer& a() { return peers[0]; }
  static std::vector<NodeDesc> others(bool with_u = true) {
    return with_u ? std::vector{kT, kU} : std::vector{kT};
  }
  // t does what torchrun's agent does when somebody waits.
  void follow(NodeDesc const& node) {
    edit([&](RoundState& s) { remove_node(s, node, settings.nodes); });
    if (state().complete)
      edit([&](RoundState& s) { add_waiting(s, node); });
    else
      join_as_torchrun(node);
    beat(node);
  }
};

}  // namespace

TEST_CASE("below MAX the round is complete when its deadline has passed", "[torchrun]") {
  PeerBench bench(2, 4);
  SECTION("one that muster set") {
    bench.settings.last_call = 3s;
    auto& a = bench.start("a");
    bench.pass(1s);
    bench.start("b");
    bench.pass(2s);
    CHECK_FALSE(bench.runs(a));
    CHECK(a.said.back() == "waiting for nodes: 2 of at least 2 are here");
    bench.pass(2s);
    CHECK(bench.runs(a));
  }
  SECTION("one of an agent whose clock is hours ahead") {
    auto& a = bench.start("a");
    bench.pass(1s);
    bench.edit([&](RoundState& s) {
      auto const there = bench.utc_us + 7'200'000'000;
      add_participant(s, kT, {there + 5'000'000, true}, bench.settings.nodes);
      s.last_heartbeats[kT] = {there, true};
    });
    bench.pass(4s);
    CHECK_FALSE(bench.runs(a));
    bench.pass(2s);
    CHECK(bench.runs(a));
  }
}

TEST_CASE("a deadline at the end of Python's time has not passed", "[torchrun]") {
  PeerBench bench(2, 4);
  auto& a = bench.start("a");
  bench.pass(1s);
  bench.edit([&](RoundState& s) {
    constexpr std::int64_t kYear9999Us = 253'402'300'799'999'999;
    add_participant(s, kT, {kYear9999Us, true}, bench.settings.nodes);
    s.last_heartbeats[kT] = {bench.utc_us, true};
  });
  bench.pass_beating(30s, {kT});
  CHECK_FALSE(bench.runs(a));
}

TEST_CASE("a newcomer waits in the list, and the round is left for it", "[torchrun]") {
  Mixed mixed(1, 3);
  CHECK(mixed.a().members().size() == 2);
  auto& b = mixed.start("b");
  mixed.pass(1500ms);
  CHECK(waits(mixed.state(), b.state.self));
  REQUIRE(mixed.a().stops == std::vector<std::string>{"host b joins the job"});
  mixed.workers_stopped(mixed.a());
  mixed.pass(500ms);
  CHECK(waits(mixed.state(), mixed.a().state.self));
  mixed.follow(kT);
  mixed.pass_beating(4s, {kT});
  CHECK(mixed.runs(b));
  CHECK(b.members().size() == 3);
  CHECK(b.rounds == std::vector<std::int64_t>{1});
}

TEST_CASE("a torchrun newcomer's wish is followed too", "[torchrun]") {
  Mixed mixed(1, 3);
  mixed.edit([&](RoundState& s) { add_waiting(s, kU); });
  mixed.beat(kU);
  mixed.pass(1500ms);
  CHECK(mixed.a().stops == std::vector<std::string>{"host u joins the job"});
}

TEST_CASE("a node that is lost leads to a new round, without a last call", "[torchrun]") {
  Mixed mixed(1, 3, true);
  mixed.pass_beating(14s, {kT});
  CHECK(mixed.a().stops.empty());
  mixed.pass_beating(3s, {kT});
  REQUIRE(mixed.a().stops.size() == 1);
  CHECK(mixed.a().stops[0].find("host u is lost: not heard for 15.0 s") == 0);
  mixed.workers_stopped(mixed.a());
  mixed.pass(500ms);
  // t sees somebody wait, and comes along.
  CHECK(waits(mixed.state(), mixed.a().state.self));
  CHECK_FALSE(is_known(mixed.state(), kU));
  mixed.follow(kT);
  mixed.pass_beating(2s, {kT});
  CHECK(mixed.runs(mixed.a()));
  CHECK(mixed.a().members() == std::vector{mixed.a().state.self, kT});
  CHECK(mixed.a().state.restarts == 0);
}

TEST_CASE("a heartbeat counts from when it was seen to change, whatever time it tells",
          "[torchrun]") {
  Mixed mixed(1, 3);
  for (int i = 0; i < 30; ++i) {
    mixed.beat(kT, -3'600'000'000);  // its clock is an hour late
    mixed.pass(2s);
  }
  CHECK(mixed.a().stops.empty());
  CHECK(takes_part(mixed.state(), kT));
}

TEST_CASE("one's own heartbeat is fresh to the clock that is furthest ahead", "[torchrun]") {
  Mixed mixed(1, 3);
  mixed.beat(kT, 40'000'000);
  mixed.pass(2s);
  mixed.beat(kT, 40'000'000);
  mixed.pass(6s);
  auto const own = mixed.state().last_heartbeats[mixed.a().state.self].utc_us;
  CHECK(own >= mixed.utc_us + 40'000'000 - 8'000'000);
  CHECK(own <= mixed.utc_us + 40'000'000);
}

TEST_CASE("an agent at the exit barrier is silent, and not lost", "[torchrun]") {
  Mixed mixed(1, 3, true);
  mixed.at_barrier[0] = 1;  // u is done; torchrun sends no heartbeat from there
  mixed.pass_beating(60s, {kT});
  CHECK(mixed.a().stops.empty());
  // And put out by another torchrun agent, which took it for dead.
  mixed.edit([&](RoundState& s) { remove_node(s, kU, mixed.settings.nodes); });
  mixed.pass_beating(60s, {kT});
  CHECK(mixed.a().stops.empty());
  // Of two silent ones only one can be it.
  mixed.pass(20s);
  CHECK(mixed.a().stops.size() == 1);
}

TEST_CASE("closed by one who failed ends the job, by one who was done it does not", "[torchrun]") {
  Mixed mixed(1, 3, true);
  SECTION("nobody is done") {
    mixed.edit([](RoundState& s) { s.closed = true; });
    mixed.pass_beating(2s, Mixed::others());
    REQUIRE(mixed.a().stops.size() == 1);
    mixed.workers_stopped(mixed.a());
    mixed.pass(1s);
    CHECK(mixed.a().end->exit_code == exit_code_of(Errc::peer_lost));
  }
  SECTION("one was done, and has waited long enough") {
    mixed.at_barrier[0] = 1;
    mixed.edit([](RoundState& s) { s.closed = true; });
    mixed.pass_beating(60s, {kT});
    CHECK(mixed.a().stops.empty());
    mixed.event(mixed.a(), peer::WorkersDone{});
    mixed.pass_beating(20s, {kT});
    CHECK_FALSE(mixed.a().end);
    mixed.event(mixed.a(), peer::BarrierPassed{0});
    mixed.pass(1s);
    CHECK(mixed.a().end->success);
  }
  SECTION("own workers are done, another's failed") {
    mixed.event(mixed.a(), peer::WorkersDone{});
    mixed.edit([](RoundState& s) { s.closed = true; });
    mixed.pass_beating(2s, Mixed::others());
    REQUIRE(mixed.a().end);
    CHECK_FALSE(mixed.a().end->success);
  }
}

TEST_CASE("who is done starts anew for a member, not for a newcomer", "[torchrun]") {
  Mixed mixed(1, 3);
  mixed.event(mixed.a(), peer::WorkersDone{});
  CHECK(mixed.a().barrier == 0);
  mixed.edit([&](RoundState& s) { add_waiting(s, kU); });
  mixed.pass_beating(3s, Mixed::others());
  CHECK(mixed.a().state.phase == PeerPhase::done);
  mixed.follow(kT);
  mixed.pass_beating(3s, Mixed::others());
  CHECK(mixed.a().state.phase == PeerPhase::joining);
  CHECK(mixed.a().stops.empty());  // nothing runs that could be stopped
}

TEST_CASE("who was put out by mistake puts itself in again", "[torchrun]") {
  Mixed mixed(1, 3);
  mixed.edit([&](RoundState& s) { remove_node(s, mixed.a().state.self, mixed.settings.nodes); });
  mixed.pass_beating(2s, {kT});
  CHECK(mixed.a().stops.empty());
  CHECK(mixed.state().participants[mixed.a().state.self] == 0);
  SECTION("but not once the others have gone on") {
    mixed.edit([&](RoundState& s) {
      remove_node(s, mixed.a().state.self, mixed.settings.nodes);
      remove_node(s, kT, mixed.settings.nodes);
    });
    mixed.pass_beating(2s, {kT});
    CHECK(mixed.a().stops == std::vector<std::string>{"the other agents have begun a new round"});
  }
}

TEST_CASE("beyond MAX an agent is a spare, and takes the place of a lost node", "[torchrun]") {
  Mixed mixed(2, 2);
  auto& b = mixed.start("b");
  mixed.pass_beating(90s, {kT});  // longer than the join time
  CHECK(is_spare(mixed.state(), b.state.self));
  CHECK_FALSE(b.end);
  SECTION("a seat is free") {
    mixed.edit([&](RoundState& s) { remove_node(s, kT, mixed.settings.nodes); });
    mixed.pass(1500ms);
    CHECK(waits(mixed.state(), b.state.self));
    REQUIRE(mixed.a().stops.size() == 1);
    mixed.workers_stopped(mixed.a());
    mixed.pass(2s);
    CHECK(mixed.runs(b));
    CHECK(b.members() == std::vector{mixed.a().state.self, b.state.self});
  }
  SECTION("the job ends without it") {
    mixed.edit([](RoundState& s) { s.closed = true; });
    mixed.pass(2s);
    REQUIRE(b.end);
    CHECK(b.end->exit_code == 0);
  }
}

TEST_CASE("releases before 2.3 know no spares, those before 2.6 no zones", "[torchrun]") {
  PeerBench bench(2, 2);
  bench.value = kNoState;
  bench.edit([&](RoundState& s) {
    s.redundancy_list.reset();
    s.participants[kT] = 0;
    s.last_heartbeats[kT] = {bench.utc_us, false};
  });
  auto& a = bench.start("a");
  bench.pass(1s);
  REQUIRE(bench.runs(a));
  CHECK_FALSE(bench.state().redundancy_list);
  for (auto const& [node, beat] : bench.state().last_heartbeats) CHECK_FALSE(beat.aware);
  auto& b = bench.start("b");
  bench.pass(5s);
  CHECK_FALSE(is_known(bench.state(), b.state.self));
  CHECK_FALSE(b.end);
}

TEST_CASE("the owner of the workers' store stays rank 0 where muster completes the round",
          "[torchrun]") {
  PeerBench bench(1, 4);
  bench.settings.last_call = 3s;
  bench.value = kNoState;
  bench.join_as_torchrun(kT);
  auto& m = bench.start("m");  // m sorts before t
  bench.agree_at_once = false;
  bench.pass_beating(35s, {kT});
  REQUIRE(m.agreeing);
  CHECK(m.agreeing->members.front() == m.state.self);
  bench.event(m, peer::Agreed{0, kT});  // it goes on with the store that t has given before
  m.state.expected = m.members();
  SECTION("it is there") {
    RoundState next;
    next.participants = {{m.state.self, 0}, {kT, 0}};
    complete_round(next, m.state.store_owner);
    CHECK(members_by_rank(next) == std::vector{kT, m.state.self});
  }
  SECTION("in the next round") {
    bench.edit([](RoundState& s) { add_waiting(s, kU); });
    bench.beat(kU);
    bench.pass(1500ms);
    bench.workers_stopped(m);
    bench.pass(500ms);
    bench.edit([&](RoundState& s) { remove_node(s, kT, bench.settings.nodes); });
    bench.join_as_torchrun(kT);
    bench.join_as_torchrun(kU);
    bench.pass_beating(3s, {kT, kU});
    REQUIRE(m.agreeing->round == 1);
    CHECK(m.agreeing->members == std::vector{kT, m.state.self, kU});
  }
}

TEST_CASE("where torchrun would make a newcomer rank 0, a muster agent comes in last",
          "[torchrun]") {
  Mixed mixed(2, 3);
  auto& a = mixed.a();
  a.state.store_owner = kT;
  auto const first = PeerBench::torch_node("9");  // sorts before all others
  auto const all = std::vector{kT, first};
  mixed.edit([&](RoundState& s) { add_waiting(s, first); });
  mixed.beat(first);
  mixed.pass_beating(1500ms, all);
  REQUIRE(a.stops.size() == 1);
  mixed.workers_stopped(a);
  mixed.pass(500ms);
  mixed.agree_at_once = false;
  mixed.edit([&](RoundState& s) { remove_node(s, kT, mixed.settings.nodes); });
  SECTION("which completes the round with the owner of the store as rank 0") {
    mixed.join_as_torchrun(first);
    mixed.pass(900ms);
    CHECK_FALSE(takes_part(mixed.state(), a.state.self));
    mixed.join_as_torchrun(kT);
    mixed.pass(300ms);
    REQUIRE(a.agreeing);
    CHECK(a.agreeing->members == std::vector{kT, first, a.state.self});
  }
  SECTION("but waits for nobody longer than they need") {
    mixed.pass(4s);
    CHECK(takes_part(mixed.state(), a.state.self));
  }
}

TEST_CASE("if the owner of the store is lost, a torchrun agent opens the next one", "[torchrun]") {
  Mixed mixed(1, 3, true);  // a owns it
  auto& a = mixed.a();
  a.state.store_owner = kU;
  mixed.pass_beating(17s, {kT});
  mixed.workers_stopped(a);
  mixed.pass(500ms);
  mixed.agree_at_once = false;
  mixed.follow(kT);
  mixed.pass_beating(2s, {kT});
  CHECK(a.agreeing->members == std::vector{kT, a.state.self});
}

TEST_CASE("a round of another size than asked for is refused with the names", "[torchrun]") {
  PeerBench bench(3, 3);
  auto& a = bench.start("a");
  bench.edit([&](RoundState& s) {
    add_participant(s, kT, {0, true}, {2, 2});
    s.last_heartbeats[kT] = {bench.utc_us, true};
    complete_round(s, std::nullopt);
  });
  bench.pass(2s);
  REQUIRE(a.end);
  CHECK(a.end->error->code == Errc::refused);
  CHECK(a.end->error->what ==
        "a round of 2 nodes was formed (a, t), but host a was given --nnodes=3:3");
  CHECK_FALSE(is_known(bench.state(), a.state.self));
}

TEST_CASE("a large fleet reads the state less often", "[torchrun]") {
  PeerBench bench(500, 500);
  auto& a = bench.start("a");
  bench.pass(1s);
  auto const alone = a.reads;
  CHECK(alone >= 8);
  bench.edit([&](RoundState& s) {
    for (int i = 0; i < 450; ++i) {
      NodeDesc const node{"n" + std::to_string(i), 1, 0};
      s.participants[node] = 0;
      s.last_heartbeats[node] = {bench.utc_us, true};
    }
  });
  bench.pass(1s);
  auto const before = a.reads;
  bench.pass(10s);
  CHECK(a.reads - before <= 11);
}
