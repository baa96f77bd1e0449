// SPDX-License-Identifier: Apache-2.0
// Links over real sockets on loopback, several in one process, with agents that have no workers:
// they note what they are asked and answer at once. Every wait ends at a state, with a deadline.

#include "launcher/agent/remote_link.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/blocking_client.hpp"
#include "rendezvous/net/listener.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace muster;
using namespace muster::launch;

namespace {

struct Agent final : MembershipListener {
  std::unique_ptr<RemoteLink> link;
  std::vector<RoundView> rounds;
  std::vector<std::uint64_t> stops;
  std::optional<Outcome> outcome;
  std::optional<Error> error;
  bool silent_stop = false;

  Result<std::uint16_t> open_store(RoundNumber round) override {
    return static_cast<std::uint16_t>(1000 + round.value);
  }
  void on_round(RoundView const& view) override { rounds.push_back(view); }
  void on_stop(RoundNumber round, std::optional<Duration>, std::string const&) override {
    stops.push_back(round.value);
    if (!silent_stop) link->stopped(round);
  }
  void on_outcome(Outcome const& result) override { outcome = result; }
  void on_error(Error const& e) override { error = e; }
  bool ended() const { return outcome || error; }
};

struct Nodes {
  net::asio::io_context io{1};
  std::uint16_t port = 0;
  std::vector<std::unique_ptr<Agent>> agents;
  membership::JobSettings job;

  Nodes() {
    auto probe = net::listen_on(io, "127.0.0.1", 0);
    REQUIRE(probe);
    port = probe->local_endpoint().port();
    job.min_nodes = job.max_nodes = 2;
    job.quiet = std::chrono::milliseconds{300};
    job.lease_every = std::chrono::milliseconds{200};
    job.fence = std::chrono::milliseconds{1600};
    job.dead = std::chrono::seconds{2};
    job.outcome_patience = std::chrono::seconds{1};
  }
  ~Nodes() {
    for (auto& agent : agents) agent->link.reset();
    run_for(std::chrono::milliseconds{50});
  }

  RemoteLinkOptions options(std::string name) const {
    RemoteLinkOptions options;
    options.run_id = "links";
    options.backend = "c10d";
    options.host = "127.0.0.1";
    options.port = port;
    options.job = job;
    options.facts.host = std::move(name);
    options.facts.incarnation = Incarnation{100 + agents.size()};
    options.facts.local_world_size = 2;
    return options;
  }
  Agent& start(RemoteLinkOptions options) {
    agents.push_back(std::make_unique<Agent>());
    auto& agent = *agents.back();
    agent.link = std::make_unique<RemoteLink>(io, std::move(options));
    agent.link->join(agent);
    return agent;
  }
  Agent& start(std::string name) { return start(options(std::move(name))); }

  void run_for(Duration time) {
    io.restart();
    io.run_for(time);
  }
  template <class F>
  bool until(F const& condition, Duration patience = std::chrono::seconds{20}) {
    auto const deadline = deadline_in(patience);
    while (!condition() && !deadline.passed(now())) run_for(std::chrono::milliseconds{2});
    return condition();
  }
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
  CHECK(a.rounds[0].master_port == 1001);
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

TEST_CASE("a third node is refused with the reason", "[links]") {
  Nodes nodes;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  auto& c = nodes.start("c");
  REQUIRE(nodes.until([&] { return c.ended(); }));
  REQUIRE(c.error);
  CHECK(c.error->code == Errc::refused);
  CHECK(c.error->what.find("too late") != std::string::npos);
  CHECK_FALSE(a.ended());
}

TEST_CASE("a lost agent ends the job everywhere", "[links]") {
  Nodes nodes;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  SECTION("one that does not host") {
    b.link.reset();
    REQUIRE(nodes.until([&] { return a.ended(); }, std::chrono::seconds{10}));
    CHECK_FALSE(a.outcome->success);
    CHECK(a.outcome->why.find("node b is lost") != std::string::npos);
    CHECK(a.stops == std::vector<std::uint64_t>{1});
  }
  SECTION("the one that hosts") {
    a.link.reset();
    REQUIRE(nodes.until([&] { return b.ended(); }, std::chrono::seconds{10}));
    CHECK_FALSE(b.outcome->success);
    CHECK(b.outcome->why.find("rendezvous host a has not answered") != std::string::npos);
    CHECK(b.stops == std::vector<std::uint64_t>{1});
  }
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
  second.facts.given_rank = 1;
  auto& late = nodes.start(second);
  REQUIRE(nodes.until([&] { return late.ended(); }));
  CHECK(late.error->code == Errc::refused);
}

TEST_CASE("a port that another program has is reported at once", "[links]") {
  Nodes nodes;
  auto other = net::listen_on(nodes.io, "127.0.0.1", nodes.port);
  REQUIRE(other);
  auto options = nodes.options("a");
  SECTION("c10d: it says nothing") {}
  SECTION("static: node rank 0 must have it") {
    options.job.given_ranks = options.job.store_at_endpoint = true;
    options.facts.given_rank = 0;
  }
  auto& a = nodes.start(options);
  REQUIRE(nodes.until([&] { return a.ended(); }));
  REQUIRE(a.error);
  CHECK(a.error->code == Errc::address_in_use);
}

TEST_CASE("a name that cannot exist is reported at once", "[links]") {
  Nodes nodes;
  auto options = nodes.options("a");
  options.host = "nowhere.invalid";
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

TEST_CASE("a signal on one node ends the job on both with its code", "[links]") {
  Nodes nodes;
  auto& a = nodes.start("a");
  auto& b = nodes.start("b");
  REQUIRE(nodes.until([&] { return a.rounds.size() == 1 && b.rounds.size() == 1; }));
  b.link->leave(143, "SIGTERM on host b");
  b.link->stopped(b.rounds[0].round);
  REQUIRE(nodes.until([&] { return a.ended() && b.ended(); }));
  CHECK(a.outcome->exit_code == 143);
  CHECK(b.outcome->exit_code == 143);
  CHECK(a.outcome->why == "SIGTERM on host b");
}
