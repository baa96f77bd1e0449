// SPDX-License-Identifier: Apache-2.0
// Events, the store and the end.
#include "rendezvous/torchrun/peer_step.hpp"

#include "tests/unit/torchrun/peer_bench.hpp"

using namespace muster;
using namespace muster::torchrun;
using namespace std::chrono_literals;

namespace {

// Two muster agents in round 0.
struct Pair : PeerBench {
  explicit Pair(std::uint32_t restarts = 0) {
    settings.max_restarts = restarts;
    start("a");
    start("b");
    pass(2s);
    REQUIRE((runs(a()) && runs(b())));
  }
  Peer& a() { return peers[0]; }
  Peer& b() { return peers[1]; }
};

}  // namespace

TEST_CASE("two agents meet, run, finish together and close the rendezvous", "[torchrun]") {
  Pair pair;
  CHECK(pair.a().members() == std::vector{pair.a().state.self, pair.b().state.self});
  CHECK(pair.a().state.seat->rank == 0);
  CHECK(pair.b().state.seat->rank == 1);
  pair.event(pair.a(), peer::WorkersDone{});
  pair.pass(30s);  // b's workers take longer
  CHECK_FALSE(pair.a().end);
  pair.event(pair.b(), peer::WorkersDone{});
  CHECK(pair.at_barrier[0] == 2);
  pair.event(pair.a(), peer::BarrierPassed{0});
  pair.event(pair.b(), peer::BarrierPassed{0});
  pair.pass(1s);
  for (auto& peer : pair.peers) {
    REQUIRE(peer.end);
    CHECK(peer.end->success);
    CHECK(peer.end->exit_code == 0);
  }
  CHECK(pair.state().closed);
  // Nobody has to wait until their heartbeats are old.
  CHECK(pair.state().participants.empty());
  CHECK(pair.state().last_heartbeats.empty());
}

TEST_CASE("a failed worker starts a new round and is charged to its agent alone", "[torchrun]") {
  Pair pair(1);
  pair.event(pair.b(), peer::WorkersFailed{7, "report"});
  REQUIRE(pair.b().stops.size() == 1);
  pair.workers_stopped(pair.b());
  pair.pass(2s);
  REQUIRE(pair.a().stops == std::vector<std::string>{"host b starts its workers anew"});
  CHECK(pair.a().state.restarts == 0);
  pair.workers_stopped(pair.a());
  pair.pass(2s);
  CHECK(pair.a().rounds == std::vector<std::int64_t>{0, 1});
  CHECK(pair.b().rounds == std::vector<std::int64_t>{0, 1});
  CHECK(pair.b().state.restarts == 1);
}

TEST_CASE("a failure without a restart left closes the rendezvous; the others are not told more",
          "[torchrun]") {
  Pair pair;
  pair.event(pair.b(), peer::WorkersFailed{7, "report"});
  CHECK_FALSE(pair.state().closed);  // not before its workers are gone
  pair.workers_stopped(pair.b());
  pair.pass(2s);
  REQUIRE(pair.b().end);
  CHECK_FALSE(pair.b().end->success);
  CHECK(pair.b().end->exit_code == 7);
  CHECK(pair.b().end->reports == std::vector<std::string>{"report"});
  CHECK(pair.state().closed);
  REQUIRE(pair.a().stops.size() == 1);
  pair.workers_stopped(pair.a());
  pair.pass(1s);
  REQUIRE(pair.a().end);
  CHECK(pair.a().end->exit_code == exit_code_of(Errc::peer_lost));
}

TEST_CASE("a signal takes the agent out and never closes the rendezvous", "[torchrun]") {
  Pair pair;
  pair.event(pair.b(), peer::LeaveWanted{143, "SIGTERM"});
  CHECK(pair.b().stops.size() == 1);
  CHECK_FALSE(pair.b().end);
  CHECK(takes_part(pair.state(), pair.b().state.self));  // its workers are not gone yet
  pair.workers_stopped(pair.b());
  pair.pass(500ms);
  REQUIRE(pair.b().end);
  CHECK(pair.b().end->exit_code == 143);
  CHECK_FALSE(pair.state().closed);
  CHECK_FALSE(is_known(pair.state(), pair.b().state.self));
}

TEST_CASE("a signal before the first round leaves at once", "[torchrun]") {
  PeerBench bench;
  auto& a = bench.start("a");
  bench.pass(1s);
  bench.event(a, peer::LeaveWanted{130, "SIGINT"});
  bench.pass(200ms);
  REQUIRE(a.end);
  CHECK(a.end->exit_code == 130);
  CHECK(bench.state().participants.empty());
  CHECK_FALSE(bench.state().closed);
}

TEST_CASE("who does not find company gives up with the names of those who came", "[torchrun]") {
  PeerBench bench(3, 3);
  auto& a = bench.start("a");
  bench.join_as_torchrun(PeerBench::torch_node("t"));
  bench.pass_beating(70s, {PeerBench::torch_node("t")});
  REQUIRE(a.end);
  REQUIRE(a.end->error);
  CHECK(a.end->error->code == Errc::rendezvous_timeout);
  CHECK(a.end->error->what.find("no world of 3 nodes within 60.0 s") != std::string::npos);
  CHECK(a.end->error->what.find("a t") != std::string::npos);
  CHECK_FALSE(takes_part(bench.state(), a.state.self));
}

TEST_CASE("a store that never answers is called until the join time is over", "[torchrun]") {
  PeerBench bench;
  auto& a = bench.start("a");
  REQUIRE(a.reads == 1);
  a.answers = false;
  a.state = PeerState{};
  a.state.settings = bench.settings;
  a.state.endpoint = "head:29400";
  bench.event(a, peer::Begin{});
  bench.pass(59s);
  CHECK_FALSE(a.end);
  CHECK(a.reads > 100);
  bench.pass(2s);
  REQUIRE(a.end);
  CHECK(a.end->error->what.find("nobody answered at head:29400 (connect to head: refused)") !=
        std::string::npos);
}

TEST_CASE("a store that is lost ends the job once it is silent for as long as a dead node",
          "[torchrun]") {
  Pair pair(3);
  pair.a().answers = pair.b().answers = false;
  SECTION("it comes back in time") {
    pair.pass(10s);
    pair.a().answers = pair.b().answers = true;
    pair.pass(30s);
    CHECK(pair.a().stops.empty());
    CHECK(pair.runs(pair.a()));
  }
  SECTION("it does not") {
    pair.pass(17s);
    REQUIRE(pair.a().stops.size() == 1);
    pair.workers_stopped(pair.a());
    REQUIRE(pair.a().end);
    CHECK(pair.a().end->exit_code == exit_code_of(Errc::lost_quorum));
    CHECK(pair.a().end->why.find("has not answered for 15") != std::string::npos);
  }
}

TEST_CASE("a store that comes back empty ends the job at once", "[torchrun]") {
  Pair pair(3);
  pair.value.clear();
  pair.pass(1100ms);
  REQUIRE(pair.a().stops.size() == 1);
  pair.workers_stopped(pair.a());
  pair.pass(1s);
  REQUIRE(pair.a().end);
  CHECK(pair.a().end->why.find("has forgotten the rendezvous") != std::string::npos);
}

TEST_CASE("a state that cannot be read ends the agent", "[torchrun]") {
  PeerBench bench;
  bench.value = "!";
  auto& a = bench.start("a");
  bench.pass(1s);
  REQUIRE(a.end);
  CHECK(a.end->error->code == Errc::corrupt);
}

TEST_CASE("after a lost write an agent waits a moment, longer each time", "[torchrun]") {
  PeerBench bench(2, 9);
  auto& a = bench.start("a");
  bench.pass(1s);
  // Another one changes the state between each of a's reads and writes.
  a.state.token = "stale";
  auto const beaten = [&](int times) {
    for (int i = 0; i < times; ++i) {
      a.state.written = "what a would have written";
      a.state.asking = true;
      bench.event(a, peer::StoreAnswered{bench.value});
      CHECK(a.wake > bench.now);
      CHECK(a.wake <= bench.now + 1ms + a.state.failed_writes * 50ms);
    }
  };
  beaten(1);
  CHECK(a.state.failed_writes == 1);
  beaten(9);
  CHECK(a.state.failed_writes == 10);
  bench.pass(6s);
  CHECK(a.state.failed_writes == 0);
  CHECK(takes_part(bench.state(), a.state.self));
}

TEST_CASE("many agents that start at once all get in, and few of their writes are lost",
          "[torchrun]") {
  PeerBench bench(40, 40);
  for (int i = 0; i < 40; ++i) bench.start("n" + std::to_string(i));
  bench.pass(5s);
  int lost = 0;
  for (auto const& peer : bench.peers) {
    CHECK(bench.runs(peer));
    lost += peer.lost_writes;
  }
  CHECK(lost < 40);
}

TEST_CASE("a closed rendezvous takes nobody in", "[torchrun]") {
  PeerBench bench;
  bench.value = kNoState;
  bench.edit([](RoundState& s) { s.closed = true; });
  auto& a = bench.start("a");
  bench.pass(1s);
  REQUIRE(a.end);
  REQUIRE(a.end->error);
  CHECK(a.end->error->code == Errc::refused);
  CHECK(a.end->error->hint.find("--rdzv-id") != std::string::npos);
}

TEST_CASE("a round that cannot be agreed on is left, and the next one tried", "[torchrun]") {
  PeerBench bench;
  bench.agree_at_once = false;
  bench.start("a");
  bench.start("b");
  bench.pass(1s);
  for (auto& peer : bench.peers) {
    REQUIRE(peer.agreeing);
    bench.event(peer, peer::NotAgreed{0, Error{Errc::timeout, "no word of host b", {}}});
  }
  bench.pass(2s);
  for (auto& peer : bench.peers) CHECK(peer.agreeing->round == 1);
}
