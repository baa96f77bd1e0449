// SPDX-License-Identifier: Apache-2.0
// Candidacy and changes of the host, as one member sees them.

#include "tests/unit/membership/member_bench.hpp"

using namespace muster;
using namespace muster::membership;
using namespace muster::membership::member;
using namespace std::chrono_literals;

namespace {

VoteReply granted(MemberBench const& bench, VoteRequest const& request) {
  VoteReply reply;
  reply.epoch = request.epoch;
  reply.promised = request.trial ? bench.epoch : request.epoch;
  reply.trial = request.trial;
  reply.granted = true;
  reply.host_age_ns = Duration{6s}.count();
  reply.highest = Proposed{bench.record(1), {}};
  reply.committed = bench.record(1);
  return reply;
}

// Voter 8 grants whatever it is asked.
void grant(MemberBench& bench) {
  auto const requests = bench.called<VoteRequest>(8);
  bench.clear();
  for (auto const& request : requests) bench.peer(8, granted(bench, request));
}

}  // namespace

TEST_CASE("a silent host is replaced after its time by a majority's vote", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.event(Disconnected{});
  bench.silence(4800ms);
  CHECK(bench.called<VoteRequest>(8).empty());
  bench.silence(500ms);
  REQUIRE_FALSE(bench.called<VoteRequest>(8).empty());
  CHECK(bench.called<VoteRequest>(8)[0] == VoteRequest{Epoch{2}, false, true});
  CHECK(bench.did<BecomeHost>().empty());
  grant(bench);  // the trial
  REQUIRE(bench.called<VoteRequest>(8).size() == 1);
  CHECK_FALSE(bench.called<VoteRequest>(8)[0].trial);
  grant(bench);
  REQUIRE(bench.did<BecomeHost>().size() == 1);
  auto const host = bench.did<BecomeHost>()[0].host;
  CHECK(host.epoch == Epoch{2});
  CHECK(host.phase == Phase::resuming);
  CHECK(host.proposal->record.round == RoundNumber{1});
}

TEST_CASE("whoever is elected says so to the voters at once", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
  grant(bench);
  CHECK(bench.called<HostIs>(8).empty());  // the trial decides nothing
  grant(bench);
  REQUIRE(bench.did<BecomeHost>().size() == 1);
  auto const self = bench.record(1).voters[1];
  auto const news = HostIs{Generation{1}, Epoch{2}, self, true};
  CHECK(bench.called<HostIs>(8) == std::vector<HostIs>{news});
  CHECK(bench.called<HostIs>(1) == std::vector<HostIs>{news});  // should it live, it is deposed
  CHECK(bench.called<HostIs>(7).empty());
}

TEST_CASE("a voter that has found the new host tells those that asked it meanwhile",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.event(Disconnected{});
  bench.silence(1s);
  bench.peer(30, Ask{1}, RoundNumber{1});
  bench.silence(3s);
  bench.peer(31, Ask{6, RoundNumber{1}, Epoch{1}});
  REQUIRE(bench.replied<Answer>(31).at(0).granted);
  bench.clear();
  bench.epoch = Epoch{2};
  bench.welcome(8);
  REQUIRE(bench.replied<HostIs>(31).size() == 1);
  CHECK(bench.replied<HostIs>(31)[0].host.node == Incarnation{8});
  CHECK(bench.replied<HostIs>(31)[0].epoch == Epoch{2});
  CHECK(bench.replied<HostIs>(30).empty());  // whoever still misses it asks again
  bench.clear();
  bench.welcome(8);
  CHECK(bench.replied<HostIs>(31).empty());
}

TEST_CASE("a proven death needs no waiting, and only for what is known", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  SECTION("of the round that we know") {
    bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
    CHECK(bench.called<VoteRequest>(8).size() == 1);
  }
  SECTION("the host may have decided more") {
    bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{2});
    CHECK(bench.called<VoteRequest>(8).empty());
  }
  SECTION("the same round may be another one under a later host") {
    bench.epoch = Epoch{2};
    bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
    CHECK(bench.called<VoteRequest>(8).empty());
    CHECK(bench.state.voter.gone.empty());
  }
  SECTION("the host says so itself") {
    bench.hear(Resigned{});
    CHECK(bench.called<VoteRequest>(8).size() == 1);
  }
}

TEST_CASE("a voter that hears of a proven death later than a candidate is asked again soon",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
  auto refusal = granted(bench, bench.called<VoteRequest>(8).at(0));
  refusal.granted = false;
  bench.clear();
  bench.peer(8, refusal);
  CHECK(bench.called<VoteRequest>(8).empty());
  bench.later(60ms);
  CHECK(bench.called<VoteRequest>(8).size() == 1);
}

TEST_CASE("candidates stand one after another", "[membership]") {
  MemberBench bench;
  bench.run();
  auto moved = bench.record(2);
  std::swap(moved.voters[1], moved.voters[2]);  // two before us: the host, and 8
  Commit commit{moved, {}, {}};
  commit.row.node = Incarnation{7};
  bench.hear(commit);
  bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{2});
  CHECK(bench.called<VoteRequest>(8).empty());
  bench.later(160ms);
  CHECK(bench.called<VoteRequest>(8).size() == 1);
}

TEST_CASE("a candidate that nobody answers disturbs no reign", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.event(Disconnected{});
  bench.silence(20s);
  CHECK(bench.called<VoteRequest>(8).size() > 3);  // it goes on trying
  CHECK(bench.state.voter.promised == Epoch{1});
  bench.welcome();
  CHECK(bench.state.with_host);
}

TEST_CASE("a last word tells of the vote before anybody can count on that", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
  bench.clear();
  bench.peer(8, VoteRequest{Epoch{2}, false, true});
  CHECK(bench.did<KeepLastWord>().empty());  // a trial promises nothing
  bench.clear();
  bench.peer(8, VoteRequest{Epoch{2}, false, false});
  REQUIRE(bench.replied<VoteReply>(8).at(0).granted);
  REQUIRE(bench.did<KeepLastWord>().size() == 1);
  CHECK(bench.did<KeepLastWord>()[0] == KeepLastWord{{}, RoundNumber{1}, Epoch{2}});
  CHECK(std::holds_alternative<KeepLastWord>(bench.effects.front()));
}

TEST_CASE("whoever was voted for has a moment to become host, and its time to be missed",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
  bench.clear();
  bench.peer(8, VoteRequest{Epoch{2}, false, false});
  REQUIRE(bench.replied<VoteReply>(8).at(0).granted);
  CHECK(Duration{bench.replied<VoteReply>(8)[0].host_age_ns} < 1s);  // its true age
  bench.clear();
  bench.peer(9, VoteRequest{Epoch{3}, false, true});
  CHECK_FALSE(bench.replied<VoteReply>(9).at(0).granted);
  bench.later(900ms);
  CHECK(bench.called<VoteRequest>(8).empty());
  bench.clear();
  bench.later(200ms);
  bench.peer(9, VoteRequest{Epoch{3}, false, true});
  CHECK(bench.replied<VoteReply>(9).at(0).granted);
}

TEST_CASE("a later reign is called, an older one is not", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.clear();
  Seat const successor{Incarnation{8}, "n8", "10.0.0.8", 8};
  bench.peer(9, HostIs{Generation{1}, Epoch{1}, successor, true});
  CHECK(bench.did<CallHost>().empty());
  bench.peer(9, HostIs{Generation{1}, Epoch{2}, successor, true});
  REQUIRE(bench.did<CallHost>().size() == 1);
  CHECK(bench.did<CallHost>()[0].host == successor);
  bench.peer(9, HostIs{Generation{1}, Epoch{2}, successor, true});
  CHECK(bench.did<CallHost>().size() == 1);  // under way
}

TEST_CASE("a host that has renewed its reign is called again once it is missed", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  auto const host = bench.record(1).voters[0];
  HostIs const news{Generation{1}, Epoch{2}, host, true};
  bench.peer(8, news);
  CHECK(bench.did<CallHost>().empty());  // its own word is under way
  bench.silence(3s);
  bench.peer(8, HostIs{Generation{1}, Epoch{1}, host, true});
  CHECK(bench.did<CallHost>().empty());
  bench.peer(8, news);
  REQUIRE(bench.did<CallHost>().size() == 1);
  CHECK(bench.did<CallHost>()[0].host == host);
}

TEST_CASE("a host that hears of a later reign steps down", "[membership]") {
  MemberBench bench;
  bench.welcome(7);
  bench.hear(bench.commit(1), 7);
  Seat const successor{Incarnation{8}, "n8", "10.0.0.8", 8};
  bench.peer(9, HostIs{Generation{1}, Epoch{2}, successor, true});
  CHECK(bench.did<StepDown>().size() == 1);
  CHECK(bench.did<CallHost>().size() == 1);
}

TEST_CASE("a voter that is asked while its host is there names it and vouches for nobody",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.peer(8, Ask{5});
  CHECK(bench.replied<Answer>(8).at(0) == Answer{5, false});
  CHECK(bench.replied<HostIs>(8).at(0).host.node == Incarnation{1});
  bench.pass(1s);
  bench.event(Disconnected{});
  bench.clear();
  bench.peer(8, Ask{6, RoundNumber{1}, Epoch{1}});
  CHECK(bench.replied<Answer>(8).at(0).granted);
}

TEST_CASE("a host that was silent for a moment is given its whole time again", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.pass(2s);
  bench.silence(3s);
  bench.pass(10s);
  bench.clear();
  bench.silence(4500ms);
  CHECK(bench.called<VoteRequest>(8).empty());
  bench.silence(700ms);
  CHECK_FALSE(bench.called<VoteRequest>(8).empty());
}

TEST_CASE("a spare whose host went silent looks for another", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.pass(120s);  // a spare waits as long as the host wishes
  CHECK(bench.did<GiveUp>().empty());
  bench.clear();
  bench.silence(6s);
  CHECK_FALSE(bench.did<CallHost>().empty());
  CHECK(bench.called<VoteRequest>(8).empty());
  bench.silence(70s);
  CHECK(bench.did<GiveUp>().size() == 1);
}

TEST_CASE("a spare whose host went silent asks those that the host named", "[membership]") {
  MemberBench bench;
  bench.welcome();
  Seat const voter{Incarnation{8}, "n8", "10.0.0.8", 8};
  Waiting note;
  note.voters = {voter};
  bench.hear(note);
  bench.pass(10s);
  CHECK(bench.called<Ask>(8).empty());
  bench.clear();
  bench.silence(2s);
  CHECK_FALSE(bench.called<Ask>(8).empty());
  HostIs const by{bench.state.generation, bench.state.epoch.next(), voter, true};
  bench.event(PeerSaid{bench.header(8), by});
  REQUIRE(bench.did<CallHost>().size() == 1);
  CHECK(bench.did<CallHost>()[0].host == voter);
  CHECK(bench.called<VoteRequest>(8).empty());
}

TEST_CASE("a spare whose host hung up asks at once, and again", "[membership]") {
  MemberBench bench;
  bench.welcome();
  bench.event(Disconnected{});
  CHECK(bench.called<Ask>(8).empty());  // nobody was named
  bench.event(Connected{});
  bench.welcome();
  Waiting note;
  note.voters = {{Incarnation{8}, "n8", "10.0.0.8", 8}};
  bench.hear(note);
  bench.event(Disconnected{});
  CHECK(bench.called<Ask>(8).size() == 1);
  bench.event(Connected{});  // somebody answers there, and hangs up without a welcome
  bench.event(Disconnected{});
  CHECK(bench.called<Ask>(8).size() == 1);
  bench.silence(2s);
  CHECK(bench.called<Ask>(8).size() > 1);
}

TEST_CASE("a spare without a connection asks again before it misses its host", "[membership]") {
  MemberBench bench;
  bench.welcome();
  Waiting note;
  note.voters = {{Incarnation{8}, "n8", "10.0.0.8", 8}};
  bench.hear(note);
  bench.event(Disconnected{});
  auto const every = bench.state.job.lease_every / 2;
  for (std::size_t asked = 1; asked < 3; ++asked) {
    CHECK(bench.called<Ask>(8).size() == asked);
    CHECK(bench.did<WakeAt>().back().at <= bench.now + every);
    bench.later(every);
  }
}

// Its voters answer it: that they do not vouch for it says nothing of a majority.
TEST_CASE("a spare without a host says so once, and after that anew what it waits for",
          "[membership]") {
  MemberBench bench;
  bench.welcome();
  Waiting note;
  note.text = "standing by";
  note.voters = {{Incarnation{8}, "n8", "10.0.0.8", 8}};
  bench.hear(note);
  bench.event(Disconnected{});
  bench.silence(bench.state.dead + 1s);
  CHECK(bench.did<Tell>().back().text ==
        "no other rendezvous host can be reached; waiting for one, 60.0 s at most, then this node "
        "ends with exit code 83");
  bench.clear();
  bench.epoch = Epoch{2};
  bench.welcome(8);
  CHECK(bench.did<Tell>().empty());
  bench.hear(note, 8);
  REQUIRE(bench.did<Tell>().size() == 1);
  CHECK(bench.did<Tell>()[0].text == "standing by");
}

TEST_CASE("whoever voted for a host that reigns may vote again as soon as that one is lost, too",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
  bench.peer(8, VoteRequest{Epoch{2}, true, false}, RoundNumber{1});
  REQUIRE(bench.replied<VoteReply>(8).at(0).granted);
  bench.epoch = Epoch{2};
  bench.welcome(8);
  auto again = bench.commit(1);
  again.record.host = Incarnation{8};
  bench.hear(again, 8);
  bench.peer(8, LastWord{Incarnation{8}}, RoundNumber{1});
  CHECK(bench.did<BecomeHost>().size() == 1);  // of three voters it is the last
}

TEST_CASE("a node that leaves says so to the next host once that knows it", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.event(LeaveWanted{{143, "told to end"}});
  bench.event(Disconnected{});
  bench.epoch = Epoch{2};
  bench.event(Connected{});
  bench.clear();
  bench.hear(Welcome{"n8", bench.state.job}, 8);
  CHECK(bench.said<Leave>().size() == 1);
}

TEST_CASE("a node with a place asks nobody because its host hung up", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.clear();
  bench.event(Disconnected{});
  CHECK(bench.called<Ask>(8).empty());
}

TEST_CASE("a spare that asked a moment ago is told who hosts next, and the next host awaits it",
          "[membership]") {
  MemberBench bench;
  bench.run();
  bench.peer(20, Ask{5});
  bench.pass(4s);
  CHECK(bench.state.spares.empty());       // a lease later nobody keeps it
  bench.peer(21, Ask{5});                  // while the host was still there
  bench.peer(22, Ask{5}, RoundNumber{1});  // it has a place
  auto of_another_job = bench.header(23);
  of_another_job.generation = Generation{99};
  bench.event(PeerSaid{of_another_job, Ask{5}});
  bench.clear();
  bench.peer(1, LastWord{Incarnation{1}}, RoundNumber{1});
  grant(bench);
  grant(bench);
  REQUIRE(bench.did<BecomeHost>().size() == 1);
  CHECK(bench.did<BecomeHost>()[0].host.spares == std::set{Incarnation{21}});
  CHECK(bench.replied<HostIs>(21).size() == 1);
  CHECK(bench.replied<HostIs>(20).empty());
}

TEST_CASE("the next host hears of workers that the one before had stopped", "[membership]") {
  MemberBench bench;
  bench.run();
  bench.hear(Stop{RoundNumber{1}, {}, "node n8 is lost"});
  Seat const next{Incarnation{8}, "n8", "10.0.0.8", 8};
  bench.event(PeerSaid{bench.header(8), HostIs{Generation{1}, Epoch{2}, next, true}});
  bench.epoch = Epoch{2};
  bench.welcome(8);
  bench.clear();
  auto commit = bench.commit(1);
  commit.record.host = Incarnation{8};
  bench.hear(commit, 8);
  REQUIRE(bench.said<Failed>().size() == 1);
  CHECK(bench.said<Failed>()[0].failure.exit_code == exit_code_of(Errc::fenced));
  CHECK(bench.did<StartWorkers>().empty());
}

TEST_CASE("whoever had no round yet follows a host of an older job than the one it heard first",
          "[membership]") {
  MemberBench bench;
  bench.event(Connected{});
  auto newborn = bench.header(7);  // in this very process, at an endpoint whose host had died
  newborn.generation = Generation{9};
  bench.event(Heard{newborn, Welcome{"n7", bench.state.job}});
  HostIs const by{Generation{1}, Epoch{2}, {Incarnation{8}, "n8", "10.0.0.8", 8}, true};
  bench.event(Heard{newborn, by});
  REQUIRE(bench.did<CallHost>().size() == 1);
  bench.epoch = Epoch{2};
  bench.welcome(8);
  CHECK(bench.state.with_host);
  CHECK(bench.state.generation == Generation{1});
  CHECK(bench.state.voter.promised == Epoch{2});
  auto commit = bench.commit(3);
  commit.record.host = Incarnation{8};
  bench.hear(commit, 8);
  CHECK(bench.did<StartWorkers>().size() == 1);
}
