// SPDX-License-Identifier: Apache-2.0
// A job of one node, driven through the seam that the agent uses. "Posted" calls wait in a queue.

#include "launcher/agent/local_link.hpp"

#include <catch2/catch.hpp>

#include <deque>

using namespace muster;
using namespace muster::launch;

namespace {

struct Queue {
  std::deque<std::function<void()>> calls;
  Post post() {
    return [this](std::function<void()> call) { calls.push_back(std::move(call)); };
  }
  void run() {
    while (!calls.empty()) {
      auto call = std::move(calls.front());
      calls.pop_front();
      call();
    }
  }
};

struct Recorder final : MembershipListener {
  std::vector<std::string> said;
  RoundView view;
  std::optional<Outcome> outcome;
  std::optional<Error> error;
  bool store_fails = false;

  Result<std::uint16_t> open_store(StoreWish const& wish) override {
    auto const round = wish.round;
    said.push_back("open " + std::to_string(round.value));
    if (store_fails) return Error{Errc::address_in_use, "bind 127.0.0.1:29500: taken", ""};
    return static_cast<std::uint16_t>(40000 + round.value);
  }
  void on_round(RoundView const& round) override {
    view = round;
    said.push_back("round " + std::to_string(round.round.value));
  }
  void on_stop(RoundNumber round, std::optional<Duration>, std::string const&) override {
    said.push_back("stop " + std::to_string(round.value));
  }
  void on_outcome(Outcome const& result) override { outcome = result; }
  void on_error(Error const& e) override { error = e; }
};

LocalLinkOptions options_with(std::uint32_t max_restarts) {
  LocalLinkOptions options;
  options.run_id = "r";
  options.facts.host = "here";
  options.facts.local_world_size = 4;
  options.max_restarts = max_restarts;
  return options;
}

WorkerFailure failure_of(RoundNumber round, int code) {
  WorkerFailure failure;
  failure.round = round;
  failure.exit_code = code;
  failure.at_ns = 1;
  failure.report = "report " + std::to_string(round.value);
  return failure;
}

}  // namespace

TEST_CASE("one node starts its round at once and its success is the job's", "[links]") {
  Queue queue;
  Recorder agent;
  LocalLink link(queue.post(), options_with(0));
  link.join(agent);
  CHECK(agent.said.empty());  // never from inside the call
  queue.run();
  CHECK(agent.said == std::vector<std::string>{"open 1", "round 1"});
  CHECK(agent.view.world_size == 4);
  CHECK(agent.view.master_addr == "127.0.0.1");
  CHECK(agent.view.master_port == 40001);
  CHECK(agent.view.hosts == std::vector<std::string>{"here"});
  link.workers_done(agent.view.round);
  queue.run();
  REQUIRE(agent.outcome);
  CHECK(agent.outcome->success);
}

TEST_CASE("a worker failure restarts the world while the budget lasts", "[links]") {
  Queue queue;
  Recorder agent;
  LocalLink link(queue.post(), options_with(1));
  link.join(agent);
  queue.run();
  link.workers_failed(failure_of(agent.view.round, 7));
  queue.run();
  CHECK(agent.said == std::vector<std::string>{"open 1", "round 1", "stop 1", "open 2"});
  link.stopped(RoundNumber{1}, 0);
  queue.run();
  CHECK(agent.said.back() == "round 2");
  CHECK(agent.view.restart_count == 1);
  CHECK(agent.view.master_port == 40002);

  link.workers_failed(failure_of(agent.view.round, 9));
  queue.run();
  CHECK_FALSE(agent.outcome);  // not before the workers are dead
  link.stopped(agent.view.round, 0);
  queue.run();
  REQUIRE(agent.outcome);
  CHECK_FALSE(agent.outcome->success);
  CHECK(agent.outcome->exit_code == 9);
  CHECK(agent.outcome->reports == std::vector<std::string>{"report 2"});
  CHECK(agent.outcome->why.find("no restart is left") != std::string::npos);
}

TEST_CASE("workers that were stopped before the agent was asked to count as stopped", "[links]") {
  Queue queue;
  Recorder agent;
  LocalLink link(queue.post(), options_with(1));
  link.join(agent);
  queue.run();
  link.workers_failed(failure_of(agent.view.round, 7));
  link.stopped(agent.view.round, 0);
  queue.run();
  CHECK(agent.said.back() == "round 2");
}

TEST_CASE("a signal ends the job with its code once the workers are dead", "[links]") {
  Queue queue;
  Recorder agent;
  LocalLink link(queue.post(), options_with(3));
  link.join(agent);
  queue.run();
  link.leave(143, "SIGTERM");
  queue.run();
  CHECK_FALSE(agent.outcome);
  link.stopped(agent.view.round, 0);
  queue.run();
  REQUIRE(agent.outcome);
  CHECK(agent.outcome->exit_code == 143);
  CHECK(agent.outcome->why == "SIGTERM");
}

TEST_CASE("a store that cannot be opened ends the job with the reason", "[links]") {
  Queue queue;
  Recorder agent;
  agent.store_fails = true;
  LocalLink link(queue.post(), options_with(0));
  link.join(agent);
  queue.run();
  REQUIRE(agent.outcome);
  CHECK(agent.outcome->exit_code == 1);
  CHECK(agent.outcome->why.find("29500") != std::string::npos);
}

TEST_CASE("a link may be destroyed inside a callback or with calls under way", "[links]") {
  Queue queue;
  Recorder agent;
  auto link = std::make_unique<LocalLink>(queue.post(), options_with(0));
  link->join(agent);
  link.reset();
  queue.run();
  CHECK(agent.said.empty());
}
