// SPDX-License-Identifier: Apache-2.0
// The membership of several nodes, over real sockets.

#include "launcher/agent/remote_link.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/blocking_client.hpp"
#include "rendezvous/net/listener.hpp"
#include "tests/support/link_bench.hpp"

#include <thread>

using namespace muster;
using namespace muster::launch;

namespace {

using Agent = test::NotingAgent;

struct Nodes : test::LinkBench {
  membership::JobSettings job;

  Nodes() {
    job.min_nodes = job.max_nodes = 2;
    job.quiet = std::chrono::milliseconds{300};
    job.lease_every = std::chrono::milliseconds{200};
    job.dead = job.dead_at_min = std::chrono::seconds{2};
    job.scale_interval = std::chrono::milliseconds{100};
    job.outcome_patience = std::chrono::seconds{1};
  }

  RemoteLinkOptions options(std::string name) const {
    RemoteLinkOptions options;
    options.run_id = "links";
    options.backend = "c10d";
    options.places = {{"127.0.0.1", port}};
    options.job = job;
    options.facts.host = std::move(name);
    options.facts.incarnation = Incarnation{100 + agents.size()};
    options.facts.local_world_size = 2;
    return options;
  }
  Agent& start(RemoteLinkOptions options) { return start_link<RemoteLink>(std::move(options)); }
  Agent& start(std::string name) { return start(options(std::move(name))); }
  // The first one hosts.
  std::vector<Agent*> start_world(std::vector<std::string> const& names) {
    std::vector<Agent*> world;
    for (auto const& name : names) world.push_back(&start(name));
    REQUIRE(until([&] {
      return std::all_of(world.begin(), world.end(),
                         [&](Agent* agent) { return agent->runs(world.size()); });
    }));
    return world;
  }
  // As the guardian of an agent that has died.
  void speak_for(Agent& dead) {
    auto const words = dead.words;
    dead.link.reset();
    for (auto const& place : words.places) {
      net::tcp::socket socket(io);
      net::error_code ignored;
      socket.connect({net::asio::ip::make_address(place.address), place.port}, ignored);
      auto const framed = [](control::Letter const& letter) {
        return control::frame(control::encode(letter));
      };
      auto const said = control::plain_opening("a guardian", words.word.header.run_id) +
                        framed(words.opening) + framed(words.word);
      net::asio::write(socket, net::asio::buffer(said), ignored);
      word_lines.push_back(std::move(socket));
    }
  }
  std::vector<net::tcp::socket> word_lines;
};

WorkerFailure failure_of(RoundNumber round, int code, bool consequence = false) {
  WorkerFailure failure;
  failure.round = round;
  failure.exit_code = code;
  failure.is_consequence = consequence;
  failure.at_ns = now().time_since_epoch().count();
  failure.report = "exit " + std::to_string(code);
  return failure;
}

}  // namespace

TEST_CASE("two nodes meet, run and succeed together", "[links]") {
  Nodes nodes;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  CHECK(a.rounds[0].world_size == 4);
  CHECK(a.rounds[0].group_rank + b.rounds[0].group_rank == 1);
  CHECK(a.rounds[0].hosts == std::vector<std::string>{"a", "b"});
  CHECK(a.rounds[0].master_addr == "127.0.0.1");
  CHECK(a.rounds[0].master_port == a.stores.at(a.rounds[0].round).port());
  b.link->workers_done(b.rounds[0].round);
  nodes.run_for(std::chrono::milliseconds{50});
  CHECK_FALSE(b.ended());
  a.link->workers_done(a.rounds[0].round);
  REQUIRE(nodes.until([&] { return a.ended() && b.ended(); }));
  CHECK(a.outcome->success);
  CHECK(b.outcome->success);
}

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

TEST_CASE("nodes meet at any place of a list", "[links]") {
  Nodes nodes;
  auto const one = nodes.free_port(), two = nodes.free_port(), three = nodes.free_port();
  auto const with = [&](std::string name) {
    auto options = nodes.options(std::move(name));
    options.places = {{"127.0.0.1", one}, {"127.0.0.1", two}, {"127.0.0.1", three}};
    return options;
  };
  SECTION("the owner of the first one hosts") {
    auto& a = nodes.start(with("a"));
    auto& b = nodes.start(with("b"));
    REQUIRE(nodes.until([&] { return a.runs(2) && b.runs(2); }));
  }
  SECTION("where nobody has it, the owner of the next one does, after a quiet period") {
    auto blocker = net::listen_on(nodes.io, "127.0.0.1", one);
    REQUIRE(blocker);
    auto& b = nodes.start(with("b"));
    auto& c = nodes.start(with("c"));
    REQUIRE(nodes.until([&] { return b.runs(2) && c.runs(2); }));
  }
  SECTION("a newcomer finds the host that took over") {
    nodes.job.min_nodes = 1;
    nodes.job.max_nodes = 3;
    std::vector<Agent*> world;
    for (auto const* name : {"a", "b"}) world.push_back(&nodes.start(with(name)));
    REQUIRE(nodes.until([&] { return world[0]->runs(2) && world[1]->runs(2); }));
    nodes.speak_for(*world[0]);
    REQUIRE(nodes.until([&] { return world[1]->runs(1); }));
    auto late = with("c");
    late.may_begin = false;
    auto& c = nodes.start(late);
    REQUIRE(nodes.until([&] { return c.runs(2) && world[1]->runs(2); }));
  }
}

TEST_CASE("a node that never begins a job waits for one that does", "[links]") {
  Nodes nodes;
  auto shy = nodes.options("a");
  shy.may_begin = false;
  auto& a = nodes.start(shy);
  nodes.run_for(std::chrono::milliseconds{300});
  CHECK(a.rounds.empty());
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.runs(2) && b.runs(2); }));
}

TEST_CASE("below MAX the round starts after the quiet period", "[links]") {
  Nodes nodes;
  nodes.job.max_nodes = 4;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  CHECK(a.rounds[0].group_world_size == 2);
}

TEST_CASE("nodes that do not come are waited for until the join time is over", "[links]") {
  Nodes nodes;
  nodes.job.join_timeout = std::chrono::milliseconds{500};
  nodes.job.min_nodes = nodes.job.max_nodes = 3;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.ended() && b.ended(); }));
  for (auto const* agent : {&a, &b}) {
    REQUIRE(agent->error);
    CHECK(agent->error->code == Errc::rendezvous_timeout);
    CHECK(agent->error->what.find("2 of 3 nodes") != std::string::npos);
    CHECK(agent->error->what.find("a, b") != std::string::npos);
  }
}

TEST_CASE("contradictions are refused with both hosts named", "[links]") {
  Nodes nodes;
  nodes.job.min_nodes = nodes.job.max_nodes = 3;
  nodes.start("a");
  nodes.run_for(std::chrono::milliseconds{100});
  auto odd = nodes.options("b");
  SECTION("another size") {
    odd.job.max_nodes = 4;
  }
  SECTION("another budget") {
    odd.job.max_restarts = 9;
  }
  SECTION("another job at an endpoint inside an agent") {
    odd.run_id = "other";
  }
  auto& b = nodes.start(odd);
  REQUIRE(nodes.until([&] { return b.ended(); }));
  REQUIRE(b.error);
  CHECK(b.error->code == Errc::refused);
  CHECK(b.error->what.find("host a") != std::string::npos);
  CHECK(b.error->what.find("host b") != std::string::npos);
}

TEST_CASE("static nodes get the ranks they ask for and a store at the endpoint's port", "[links]") {
  Nodes nodes;
  nodes.job.given_ranks = nodes.job.store_at_endpoint = true;
  nodes.job.succession = false;
  nodes.job.max_restarts = 1;
  auto one = nodes.options("one"), zero = nodes.options("zero");
  one.backend = zero.backend = "static";
  one.facts.given_rank = 1;
  zero.facts.given_rank = 0;
  zero.facts.incarnation = Incarnation{999};
  auto& b = nodes.start(one);
  nodes.run_for(std::chrono::milliseconds{50});
  auto& a = nodes.start(zero);
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  CHECK(a.rounds[0].group_rank == 0);
  CHECK(b.rounds[0].group_rank == 1);
  CHECK(b.rounds[0].master_port == nodes.port);
  CHECK(b.rounds[0].master_addr == "127.0.0.1");

  auto const keys = [&] {
    std::int64_t count = -1;
    std::thread client([&] {
      auto store = net::BlockingClient::connect("127.0.0.1", nodes.port,
                                                deadline_in(std::chrono::seconds{10}));
      if (!store) return;
      count = *store->num_keys(deadline_in(std::chrono::seconds{10}));
      (void)store->set("left", "over", deadline_in(std::chrono::seconds{10}));
      nodes.io.stop();
    });
    nodes.run_for(std::chrono::seconds{10});
    client.join();
    return count;
  };
  auto const before = keys();
  CHECK(keys() == before + 1);
  b.link->workers_failed(failure_of(b.rounds[0].round, 1));
  REQUIRE(nodes.until([&] { return a.rounds.size() == 2 && b.rounds.size() == 2; }));
  CHECK(keys() == before);  // the next round's store is a fresh one

  auto second = nodes.options("twin");
  second.backend = "static";
  second.job = one.job;
  second.facts.given_rank = 1;
  auto& late = nodes.start(second);
  REQUIRE(nodes.until([&] { return late.ended(); }));
  CHECK(late.error->code == Errc::refused);
}

TEST_CASE("node rank 0 reports at once that another program has its port", "[links]") {
  Nodes nodes;
  auto other = net::listen_on(nodes.io, "127.0.0.1", nodes.port);
  REQUIRE(other);
  auto options = nodes.options("a");
  options.job.given_ranks = options.job.store_at_endpoint = true;
  options.job.succession = false;
  options.facts.given_rank = 0;
  auto& a = nodes.start(options);
  REQUIRE(nodes.until([&] { return a.ended(); }));
  REQUIRE(a.error);
  CHECK(a.error->code == Errc::address_in_use);
}

TEST_CASE("who has the port and says nothing is waited for", "[links]") {
  Nodes nodes;
  auto mute = net::listen_on(nodes.io, "127.0.0.1", nodes.port);
  REQUIRE(mute);
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  nodes.run_for(std::chrono::milliseconds{1500});
  CHECK_FALSE(a.ended());
  mute->close();
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
}

TEST_CASE("a name that cannot exist is reported at once", "[links]") {
  Nodes nodes;
  auto options = nodes.options("a");
  options.places[0].host = "nowhere.invalid";
  auto& a = nodes.start(options);
  REQUIRE(nodes.until([&] { return a.ended(); }));
  REQUIRE(a.error);
  CHECK(a.error->what.find("nowhere.invalid") != std::string::npos);
}

TEST_CASE("whoever remains beside a host that went before the first round hosts", "[links]") {
  Nodes nodes;
  auto& a = nodes.start("a");
  nodes.run_for(std::chrono::milliseconds{100});
  a.link.reset();
  nodes.start("b");
  nodes.start("c");
  REQUIRE(nodes.until(
      [&] { return nodes.agents[1]->rounds.size() == 1 && nodes.agents[2]->rounds.size() == 1; }));
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
