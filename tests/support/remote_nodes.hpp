// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nodes of one job on loopback: remote links of short times, whose agents have no workers.

#include "launcher/agent/remote_link.hpp"
#include "tests/support/link_bench.hpp"

namespace muster::test {

using Agent = NotingAgent;

struct Nodes : LinkBench {
  membership::JobSettings job;

  Nodes() {
    job.min_nodes = job.max_nodes = 2;
    job.quiet = std::chrono::milliseconds{300};
    job.lease_every = std::chrono::milliseconds{200};
    job.dead = job.dead_at_min = std::chrono::seconds{2};
    job.scale_interval = std::chrono::milliseconds{100};
    job.outcome_patience = std::chrono::seconds{1};
  }

  launch::RemoteLinkOptions options(std::string name) const {
    launch::RemoteLinkOptions options;
    options.run_id = "links";
    options.backend = "c10d";
    options.places = {{"127.0.0.1", port}};
    options.job = job;
    options.facts.host = std::move(name);
    options.facts.incarnation = Incarnation{100 + agents.size()};
    options.facts.local_world_size = 2;
    return options;
  }
  Agent& start(launch::RemoteLinkOptions options) {
    return start_link<launch::RemoteLink>(std::move(options));
  }
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

inline launch::WorkerFailure failure_of(RoundNumber round, int code, bool consequence = false) {
  launch::WorkerFailure failure;
  failure.round = round;
  failure.exit_code = code;
  failure.is_consequence = consequence;
  failure.at_ns = now().time_since_epoch().count();
  failure.report = "exit " + std::to_string(code);
  return failure;
}

}  // namespace muster::test
