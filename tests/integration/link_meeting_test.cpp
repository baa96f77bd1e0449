// SPDX-License-Identifier: Apache-2.0
// How nodes find each other, over real sockets: places, hosts, ranks, contradictions.

#include "rendezvous/net/blocking_client.hpp"
#include "rendezvous/net/listener.hpp"
#include "tests/support/remote_nodes.hpp"

#include <thread>

using namespace muster;
using namespace muster::test;

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
