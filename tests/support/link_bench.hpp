// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links over real sockets on loopback, several in one process, with agents that have no workers:
// they note what they are asked and answer at once. Every wait ends at a state, with a deadline.

#include "launcher/agent/membership_link.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/net/listener.hpp"
#include "rendezvous/net/server.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::test {

struct NotingAgent final : launch::MembershipListener {
  explicit NotingAgent(net::asio::io_context& context) : io(context) {}

  net::asio::io_context& io;
  std::unique_ptr<launch::MembershipLink> link;
  std::vector<launch::RoundView> rounds;
  std::vector<std::uint64_t> stops;
  std::vector<std::string> stop_reasons, notes;
  launch::LastWords words;
  std::optional<launch::Outcome> outcome;
  std::optional<Error> error;
  bool silent_stop = false;
  std::map<RoundNumber, net::Server> stores;

  Result<std::uint16_t> open_store(launch::StoreWish const& wish) override {
    auto acceptor = net::listen_on(io, wish.address, 0);
    if (!acceptor) return acceptor.error();
    net::Server store(*std::move(acceptor), {});
    auto const port = store.port();
    stores.insert_or_assign(wish.round, std::move(store));
    return port;
  }
  void on_last_words(launch::LastWords const& given) override { words = given; }
  void on_note(std::string const& text) override { notes.push_back(text); }
  void on_round(launch::RoundView const& view) override { rounds.push_back(view); }
  void on_stop(RoundNumber round, std::optional<Duration>, std::string const& why) override {
    stops.push_back(round.value);
    stop_reasons.push_back(why);
    if (!silent_stop) link->stopped(round, 0);
  }
  void on_outcome(launch::Outcome const& result) override { outcome = result; }
  void on_error(Error const& e) override { error = e; }

  bool ended() const { return outcome || error; }
  bool runs(std::size_t nodes) const {
    return !rounds.empty() && rounds.back().group_world_size == static_cast<int>(nodes);
  }
  bool runs(std::size_t nodes, std::size_t round) const {
    return rounds.size() == round && runs(nodes);
  }
  bool was_told(std::string const& text) const {
    return std::any_of(notes.begin(), notes.end(), [&](std::string const& note) {
      return note.find(text) != std::string::npos;
    });
  }
};

struct LinkBench {
  net::asio::io_context io{1};
  std::uint16_t port = free_port();  // of the endpoint
  std::vector<std::unique_ptr<NotingAgent>> agents;

  LinkBench() = default;
  LinkBench(LinkBench const&) = delete;
  LinkBench& operator=(LinkBench const&) = delete;
  ~LinkBench() {
    for (auto& agent : agents) agent->link.reset();
    run_for(std::chrono::milliseconds{50});
  }

  std::uint16_t free_port() {
    auto probe = net::listen_on(io, "127.0.0.1", 0);
    REQUIRE(probe);
    return probe->local_endpoint().port();
  }
  template <class Link, class Options>
  NotingAgent& start_link(Options options) {
    agents.push_back(std::make_unique<NotingAgent>(io));
    auto& agent = *agents.back();
    agent.link = std::make_unique<Link>(io, std::move(options));
    agent.link->join(agent);
    return agent;
  }
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

}  // namespace muster::test
