// SPDX-License-Identifier: Apache-2.0
// How a job of several nodes goes on, over real sockets: failures, losses, newcomers, its end.

#include "tests/support/remote_nodes.hpp"

using namespace muster;
using namespace muster::test;

TEST_CASE("a failure restarts both nodes, the next one ends the job with its code", "[links]") {
  Nodes nodes;
  nodes.job.max_restarts = 1;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  b.link->workers_failed(failure_of(b.rounds[0].round, 9));
  REQUIRE(nodes.until([&] { return a.rounds.size() == 2 && b.rounds.size() == 2; }));
  CHECK(a.rounds[1].restart_count == 1);
  CHECK(a.rounds[1].group_rank == a.rounds[0].group_rank);
  a.link->workers_failed(failure_of(a.rounds[1].round, 89, true));
  b.link->workers_failed(failure_of(b.rounds[1].round, 7));
  REQUIRE(nodes.until([&] { return a.ended() && b.ended(); }));
  CHECK(a.outcome->exit_code == b.outcome->exit_code);
  CHECK(a.outcome->reports == b.outcome->reports);
}

TEST_CASE("a third node of two waits and takes the place of one that leaves", "[links]") {
  Nodes nodes;
  nodes.job.min_nodes = 1;
  auto const world = nodes.start_world({"a", "b"});
  auto& c = nodes.start("c");
  REQUIRE(nodes.until([&] { return !c.notes.empty(); }));
  CHECK(c.rounds.empty());
  CHECK(world[0]->rounds.size() == 1);
  world[1]->link->leave(143, "SIGTERM on host b");
  world[1]->link->stopped(world[1]->rounds[0].round, 0);
  REQUIRE(nodes.until([&] { return c.runs(2) && world[0]->rounds.size() == 2; }));
  CHECK(c.rounds[0].hosts == std::vector<std::string>{"a", "c"});
  CHECK(world[0]->rounds[1].group_rank == world[0]->rounds[0].group_rank);
  CHECK(c.notes.size() < 4);  // a line for each change, not for each lease
}

TEST_CASE("whoever waits is told of the job's success", "[links]") {
  Nodes nodes;
  auto const world = nodes.start_world({"a", "b"});
  auto& c = nodes.start("c");
  REQUIRE(nodes.until([&] { return !c.notes.empty(); }));
  for (auto* agent : world) agent->link->workers_done(agent->rounds[0].round);
  REQUIRE(nodes.until([&] { return c.ended() && world[0]->ended() && world[1]->ended(); }));
  REQUIRE(c.outcome);
  CHECK(c.outcome->success);
}

TEST_CASE("a newcomer to a job that may grow brings a round", "[links]") {
  Nodes nodes;
  nodes.job.max_nodes = 3;
  auto const world = nodes.start_world({"a", "b"});
  auto& c = nodes.start("c");
  REQUIRE(nodes.until([&] { return c.runs(3) && world[0]->runs(3) && world[1]->runs(3); }));
  CHECK(world[0]->rounds[1].restart_count == 0);
  CHECK(world[0]->rounds[1].repeat == 1);
  CHECK(world[0]->stops == std::vector<std::uint64_t>{1});
}

TEST_CASE("a job that may shrink goes on without a lost node", "[links]") {
  Nodes nodes;
  nodes.job.min_nodes = 1;
  auto const world = nodes.start_world({"a", "b"});
  auto &a = *world[0], &b = *world[1];
  SECTION("one that does not host is missed") {
    b.link.reset();
    REQUIRE(nodes.until([&] { return a.runs(1); }));
  }
  SECTION("one that does not host is proven dead") {
    nodes.speak_for(b);
    REQUIRE(nodes.until([&] { return a.runs(1); }, nodes.job.dead / 2));
  }
  SECTION("the one that hosts is proven dead: the other takes over") {
    nodes.speak_for(a);
    REQUIRE(nodes.until([&] { return b.runs(1); }, nodes.job.dead / 2));
    CHECK(b.was_told("takes over the rendezvous from host a"));
    b.link->workers_done(b.rounds.back().round);
    REQUIRE(nodes.until([&] { return b.ended(); }));
    CHECK(b.outcome->success);
  }
}

TEST_CASE("one of two nodes holds while the host is silent, since it cannot know", "[links]") {
  Nodes nodes;
  nodes.job.min_nodes = 1;
  nodes.job.join_timeout = std::chrono::seconds{3};
  auto const world = nodes.start_world({"a", "b"});
  world[0]->link.reset();
  REQUIRE(nodes.until([&] { return world[1]->ended(); }));
  REQUIRE(world[1]->outcome);
  CHECK(world[1]->outcome->exit_code == exit_code_of(Errc::lost_quorum));
  CHECK(world[1]->stops == std::vector<std::uint64_t>{1});
  CHECK(world[1]->was_told("no majority of the nodes can be reached"));
}

TEST_CASE("below MIN the job holds, says so, and ends when nobody came", "[links]") {
  Nodes nodes;
  nodes.job.join_timeout = std::chrono::seconds{2};
  auto const world = nodes.start_world({"a", "b"});
  world[1]->link.reset();
  REQUIRE(nodes.until([&] { return world[0]->ended(); }));
  REQUIRE(world[0]->outcome);
  CHECK(world[0]->outcome->exit_code == exit_code_of(Errc::below_min));
  CHECK(world[0]->outcome->why.find("node b is lost") != std::string::npos);
}

TEST_CASE("below MIN the job goes on with whoever comes", "[links]") {
  Nodes nodes;
  auto const world = nodes.start_world({"a", "b"});
  nodes.speak_for(*world[1]);
  REQUIRE(nodes.until([&] { return world[0]->stops.size() == 1; }));
  auto& c = nodes.start("c");
  REQUIRE(nodes.until([&] { return c.runs(2) && world[0]->rounds.size() == 2; }));
}

TEST_CASE("three nodes survive a host that falls silent, and nobody's worker stops twice",
          "[links]") {
  Nodes nodes;
  nodes.job.max_nodes = 3;
  auto const world = nodes.start_world({"a", "b", "c"});
  world[0]->link.reset();
  REQUIRE(nodes.until([&] { return world[1]->runs(2) && world[2]->runs(2); }));
  CHECK(world[1]->rounds.size() == 2);
  CHECK(world[1]->stops == std::vector<std::uint64_t>{1});
  CHECK(world[2]->stops == std::vector<std::uint64_t>{1});
  for (auto* agent : {world[1], world[2]}) agent->link->workers_done(agent->rounds.back().round);
  REQUIRE(nodes.until([&] { return world[1]->ended() && world[2]->ended(); }));
  CHECK(world[1]->outcome->success);
  CHECK(world[2]->outcome->success);
}

TEST_CASE("a host that is started again finds its job under another host and joins it", "[links]") {
  Nodes nodes;
  nodes.job.max_nodes = 3;
  auto const world = nodes.start_world({"a", "b", "c"});
  nodes.speak_for(*world[0]);
  REQUIRE(nodes.until([&] { return world[1]->runs(2) && world[2]->runs(2); }));
  auto& again = nodes.start("a");
  REQUIRE(nodes.until([&] { return again.runs(3) && world[1]->runs(3) && world[2]->runs(3); }));
  CHECK(world[1]->rounds.back().hosts.size() == 3);
}

TEST_CASE("a host that leaves hands the job over first", "[links]") {
  Nodes nodes;
  nodes.job.max_nodes = 3;
  auto const world = nodes.start_world({"a", "b", "c"});
  world[0]->link->leave(143, "SIGTERM on host a");
  world[0]->link->stopped(world[0]->rounds[0].round, 0);
  REQUIRE(nodes.until([&] { return world[1]->runs(2) && world[2]->runs(2); }));
  REQUIRE(nodes.until([&] { return world[0]->ended(); }));
  auto const of_host = world[1]->rounds.size();
  world[0]->link.reset();
  nodes.run_for(2 * nodes.job.dead);  // more than it takes to miss a host
  CHECK(world[1]->rounds.size() == of_host);
  CHECK_FALSE(world[1]->ended());
}

TEST_CASE("a signal on one node ends a job of fixed size on both with its code", "[links]") {
  Nodes nodes;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  b.link->leave(143, "SIGTERM on host b");
  b.link->stopped(b.rounds[0].round, 0);
  REQUIRE(nodes.until([&] { return a.ended() && b.ended(); }));
  CHECK(a.outcome->exit_code == 143);
  CHECK(b.outcome->exit_code == 143);
  CHECK(a.outcome->why == "SIGTERM on host b");
}
