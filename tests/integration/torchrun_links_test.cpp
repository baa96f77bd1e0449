// SPDX-License-Identifier: Apache-2.0
// Agents with --rdzv-conf=peers=torchrun among themselves, over real sockets.

#include "launcher/agent/remote_link.hpp"
#include "launcher/agent/torchrun_link.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/blocking_client.hpp"
#include "rendezvous/net/hosted_store.hpp"
#include "tests/support/link_bench.hpp"

#include <thread>

using namespace muster;
using namespace muster::launch;

namespace {

using Agent = test::NotingAgent;

void end_workers(Agent& agent) {
  agent.link->workers_done(agent.rounds.back().round);
}

void fail_workers(Agent& agent, int code) {
  WorkerFailure failure;
  failure.round = agent.rounds.back().round;
  failure.exit_code = code;
  failure.report = "report";
  agent.link->workers_failed(failure);
}

struct Nodes : test::LinkBench {
  torchrun::PeerSettings settings;

  Nodes(std::uint32_t least, std::uint32_t most) {
    settings.nodes = {least, most};
    settings.max_restarts = 1;
    settings.join_timeout = std::chrono::seconds{20};
    settings.last_call = std::chrono::milliseconds{300};
    settings.keep_alive = std::chrono::milliseconds{500};
  }

  TorchrunLinkOptions options() const {
    TorchrunLinkOptions options;
    options.run_id = "links";
    options.place = {"127.0.0.1", port};
    options.facts.host = "machine";
    options.facts.local_world_size = 2;
    options.settings = settings;
    options.pid = 100 + static_cast<std::int64_t>(agents.size());
    options.seed = agents.size();
    return options;
  }
  Agent& start(TorchrunLinkOptions options) { return start_link<TorchrunLink>(std::move(options)); }
  Agent& start() { return start(options()); }
  // One that decides itself.
  Agent& start_muster(std::string name) {
    RemoteLinkOptions options;
    options.run_id = "links";
    options.backend = "c10d";
    options.places = {{"127.0.0.1", port}};
    options.job.min_nodes = options.job.max_nodes = 2;
    options.facts.host = std::move(name);
    options.facts.incarnation = Incarnation{100 + agents.size()};
    return start_link<RemoteLink>(std::move(options));
  }
  // The first one hosts.
  void start_world(std::size_t nodes) {
    for (std::size_t i = 0; i < nodes; ++i) start();
    REQUIRE(until([&] { return all_run(nodes, 1); }));
  }
  bool all_run(std::size_t nodes, std::size_t round) const {
    return std::all_of(agents.begin(), agents.end(),
                       [&](auto const& agent) { return agent->runs(nodes, round); });
  }
  bool all_ended() const {
    return std::all_of(agents.begin(), agents.end(), [](auto const& a) { return a->ended(); });
  }

  // What a worker does with the store of its round; the store is served meanwhile.
  template <class F>
  void as_worker(RoundView const& view, F const& work) {
    bool done = false;
    std::thread worker([&] {
      auto client = net::BlockingClient::connect(view.master_addr, view.master_port,
                                                 deadline_in(std::chrono::seconds{10}));
      if (client) work(*client);
      net::asio::post(io, [&] { done = true; });
    });
    CHECK(until([&] { return done; }));
    worker.join();
  }
};

Deadline soon() {
  return deadline_in(std::chrono::seconds{10});
}

}  // namespace

TEST_CASE("two agents form a world through torchrun's state, and end it together", "[links]") {
  Nodes nodes(2, 2);
  nodes.start_world(2);
  auto const& first = nodes.agents[0]->rounds[0];
  auto const& second = nodes.agents[1]->rounds[0];
  CHECK(first.group_rank + second.group_rank == 1);
  CHECK(first.world_size == 4);
  CHECK(first.rank_base + second.rank_base == 2);
  CHECK(first.role_world_size == 4);
  CHECK(first.master_addr == "127.0.0.1");
  CHECK(first.master_port == second.master_port);
  CHECK(first.hosts == std::vector<std::string>{"127.0.0.1", "127.0.0.1"});
  end_workers(*nodes.agents[0]);
  nodes.run_for(std::chrono::milliseconds{100});
  CHECK_FALSE(nodes.all_ended());  // the others' workers may still need its store
  end_workers(*nodes.agents[1]);
  REQUIRE(nodes.until([&] { return nodes.all_ended(); }));
  for (auto const& agent : nodes.agents) {
    REQUIRE(agent->outcome);
    CHECK(agent->outcome->success);
  }
}

TEST_CASE("agents meet at a store that none of them serves", "[links]") {
  Nodes nodes(3, 3);
  auto const store = net::HostedStore::start("127.0.0.1", nodes.port);
  REQUIRE(store);
  nodes.start_world(3);
  for (auto const& agent : nodes.agents) end_workers(*agent);
  REQUIRE(nodes.until([&] { return nodes.all_ended(); }));
  for (auto const& agent : nodes.agents) CHECK(agent->outcome->success);
}

TEST_CASE("after a failed worker all start anew, in the same store, emptied", "[links]") {
  Nodes nodes(2, 2);
  nodes.start_world(2);
  auto const before = nodes.agents[1]->rounds[0];
  nodes.as_worker(before,
                  [](net::BlockingClient& store) { CHECK(store.set("id", "old", soon())); });
  fail_workers(*nodes.agents[1], 7);
  REQUIRE(nodes.until([&] { return nodes.all_run(2, 2); }));
  CHECK(nodes.agents[1]->rounds[1].restart_count == 1);
  CHECK(nodes.agents[0]->rounds[1].restart_count == 0);  // each counts for itself, as in torchrun
  CHECK(nodes.agents[0]->rounds[1].repeat == 1);
  auto const after = nodes.agents[1]->rounds[1];
  CHECK(after.master_port == before.master_port);
  nodes.as_worker(after, [](net::BlockingClient& store) {
    std::vector<std::string> const keys{"id"};
    auto const there = store.check(keys, soon());
    REQUIRE(there);
    CHECK_FALSE(*there);
  });
}

TEST_CASE("a failure without a restart left ends the job for all", "[links]") {
  Nodes nodes(2, 2);
  nodes.settings.max_restarts = 0;
  nodes.start_world(2);
  fail_workers(*nodes.agents[0], 7);
  REQUIRE(nodes.until([&] { return nodes.all_ended(); }));
  REQUIRE(nodes.agents[0]->outcome);
  CHECK(nodes.agents[0]->outcome->exit_code == 7);
  CHECK(nodes.agents[0]->outcome->reports == std::vector<std::string>{"report"});
  REQUIRE(nodes.agents[1]->outcome);
  CHECK_FALSE(nodes.agents[1]->outcome->success);
  CHECK(nodes.agents[1]->outcome->exit_code == 7);
  CHECK(nodes.agents[1]->outcome->reports == std::vector<std::string>{"report"});
}

TEST_CASE("a newcomer brings a new round", "[links]") {
  Nodes nodes(2, 3);
  nodes.start_world(2);
  auto& newcomer = nodes.start();
  REQUIRE(nodes.until([&] { return newcomer.runs(3, 1); }));
  REQUIRE(nodes.until([&] { return nodes.agents[0]->runs(3, 2) && nodes.agents[1]->runs(3, 2); }));
  CHECK(newcomer.rounds[0].master_port == nodes.agents[0]->rounds[1].master_port);
}

TEST_CASE("a node that is lost is noticed, and the others go on", "[links]") {
  Nodes nodes(2, 3);
  nodes.start_world(3);
  nodes.agents[2]->link.reset();
  nodes.agents.pop_back();
  REQUIRE(nodes.until([&] { return nodes.all_run(2, 2); }));
  CHECK(nodes.agents[0]->stop_reasons.front().find("is lost") != std::string::npos);
}

TEST_CASE("a guest whose store is lost says so and ends", "[links]") {
  Nodes nodes(2, 2);
  nodes.start_world(2);
  nodes.agents[0]->link.reset();
  auto& guest = *nodes.agents[1];
  REQUIRE(nodes.until([&] { return guest.ended(); }));
  REQUIRE(guest.outcome);
  CHECK(guest.outcome->exit_code == exit_code_of(Errc::lost_quorum));
}

TEST_CASE("who may not serve the store of its own machine waits for somebody who does", "[links]") {
  Nodes nodes(1, 1);
  auto options = nodes.options();
  options.is_host = false;
  auto& agent = nodes.start(std::move(options));
  nodes.run_for(std::chrono::milliseconds{300});
  CHECK(agent.rounds.empty());
  auto const store = net::HostedStore::start("127.0.0.1", nodes.port);
  REQUIRE(store);
  REQUIRE(nodes.until([&] { return agent.runs(1, 1); }));
}

TEST_CASE("who must serve the store where it is served already is told by whom", "[links]") {
  Nodes nodes(1, 1);
  auto const store = net::HostedStore::start("127.0.0.1", nodes.port);
  REQUIRE(store);
  auto options = nodes.options();
  options.is_host = true;
  auto& agent = nodes.start(std::move(options));
  REQUIRE(nodes.until([&] { return agent.ended(); }));
  REQUIRE(agent.error);
  CHECK(agent.error->code == Errc::address_in_use);
}

TEST_CASE("an agent that is asked to leave takes its name out of the state", "[links]") {
  Nodes nodes(1, 2);
  nodes.start_world(2);
  auto& leaver = *nodes.agents[1];
  leaver.link->leave(143, "received SIGTERM");
  REQUIRE(nodes.until([&] { return leaver.ended(); }));
  CHECK(leaver.outcome->exit_code == 143);
  CHECK_FALSE(nodes.agents[0]->ended());
  REQUIRE(nodes.until([&] { return nodes.agents[0]->runs(1, 2); }));
}

TEST_CASE("who would decide itself is refused at the store of those who do not, with both named",
          "[links]") {
  Nodes nodes(2, 2);
  nodes.start_world(2);
  auto& other = nodes.start_muster("head");
  REQUIRE(nodes.until([&] { return other.ended(); }));
  REQUIRE(other.error);
  CHECK(exit_code_of(other.error->code) == 84);
  CHECK(other.error->what.find("host head (muster) and 127.0.0.1 (muster, peers=torchrun)") !=
        std::string::npos);
  CHECK_FALSE(nodes.agents[0]->ended());
}

TEST_CASE("who would decide itself hears of those who come later to a store of neither",
          "[links]") {
  Nodes nodes(1, 1);
  auto const store = net::HostedStore::start("127.0.0.1", nodes.port);
  REQUIRE(store);
  auto& decider = nodes.start_muster("head");
  nodes.run_for(std::chrono::milliseconds{100});
  CHECK_FALSE(decider.ended());
  auto& other = nodes.start();
  REQUIRE(nodes.until([&] { return decider.ended(); }));
  REQUIRE(decider.error);
  CHECK(exit_code_of(decider.error->code) == 84);
  CHECK_FALSE(other.ended());
}

TEST_CASE("agents of torchrun's way at a muster that decides end the launch of all", "[links]") {
  Nodes nodes(2, 2);
  auto& head = nodes.start_muster("head");
  nodes.run_for(std::chrono::milliseconds{100});
  auto& guest = nodes.start();
  REQUIRE(nodes.until([&] { return nodes.all_ended(); }));
  REQUIRE(head.error);
  CHECK(exit_code_of(head.error->code) == 84);
  CHECK(head.error->what.find("host head (muster) and 127.0.0.1 (muster, peers=torchrun)") !=
        std::string::npos);
  REQUIRE(guest.error);
  CHECK(exit_code_of(guest.error->code) == 84);
}

TEST_CASE("a job that runs goes on, whoever comes to its endpoint", "[links]") {
  Nodes nodes(2, 2);
  auto& head = nodes.start_muster("head");
  auto& second = nodes.start_muster("second");
  REQUIRE(nodes.until([&] { return !head.rounds.empty() && !second.rounds.empty(); }));
  auto& guest = nodes.start();
  REQUIRE(nodes.until([&] { return guest.ended(); }));
  REQUIRE(guest.error);
  CHECK(guest.error->code == Errc::refused);
  CHECK_FALSE(head.ended());
  CHECK_FALSE(second.ended());
}
