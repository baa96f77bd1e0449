// SPDX-License-Identifier: Apache-2.0
// The lines of the last word over real control connections on loopback: whom an agent calls, and
// what is heard there in the end. Every wait ends at a state, with a deadline.

#include "launcher/agent/word_lines.hpp"

#include "rendezvous/net/listener.hpp"
#include "rendezvous/net/server.hpp"
#include "tests/support/guardian_stand_in.hpp"

#include <catch2/catch.hpp>

#include <deque>

using namespace muster;
using namespace muster::launch;
using test::run_until;

namespace {

// Somebody who is to hear last words: every letter of every connection, in their order.
struct Host {
  explicit Host(net::asio::io_context& io, std::uint16_t port = 0) {
    net::ServerOptions options;
    options.on_control = [this](net::tcp::socket socket, std::string bytes) {
      take(std::move(socket), std::move(bytes));
    };
    server.emplace(*net::listen_on(io, "127.0.0.1", port), std::move(options));
  }
  ~Host() {
    for (auto const& connection : connections) connection->close();
  }

  void take(net::tcp::socket socket, std::string bytes) {
    connections.push_back(
        std::make_shared<net::ControlConnection>(std::move(socket), net::ControlSide("host")));
    auto& letters = heard.emplace_back();
    net::ControlConnection::Callbacks callbacks;
    callbacks.on_letter = [&letters](control::Letter letter) {
      letters += std::string(control::name_of(letter.message)) + " ";
    };
    callbacks.on_end = [&letters](Error const&) { letters += "end"; };
    net::ControlConnection::start(connections.back(), bytes, std::move(callbacks));
  }
  LastWords::Place place() const { return {"127.0.0.1", server->endpoint().port()}; }

  std::optional<net::Server> server;
  std::deque<net::ControlConnection::Ptr> connections;
  std::deque<std::string> heard;
};

struct Story {
  net::asio::io_context io{1};
  test::GuardianStandIn guardian;
  LastWord last_word{io, guardian.agents_end.get()};
  WordLines lines{io, last_word, net::ControlSide("agent")};

  static LastWords words(std::vector<LastWords::Place> places, std::uint64_t round) {
    membership::Header header;
    header.run_id = "words";
    header.round = RoundNumber{round};
    return {std::move(places),
            {header, membership::OutcomeAck{}},
            {header, membership::LastWord{Incarnation{7}}}};
  }
  // How many connections the guardian was given.
  std::size_t given() {
    guardian.take();
    return static_cast<std::size_t>(
        std::count_if(guardian.packets.begin(), guardian.packets.end(),
                      [](auto const& packet) { return packet.with_connection; }));
  }
};

}  // namespace

TEST_CASE("each place is called, told for whom, and hears the word in the end", "[word_lines]") {
  Story story;
  Host host(story.io), voter(story.io);
  story.lines.set(Story::words({host.place(), voter.place()}, 1));
  REQUIRE(run_until(story.io, [&] { return story.given() == 2; }));
  for (auto* one : {&host, &voter})
    REQUIRE(
        run_until(story.io, [&] { return one->heard == std::deque<std::string>{"OUTCOME_ACK "}; }));
  story.guardian.words.speak();
  for (auto* one : {&host, &voter})
    REQUIRE(run_until(story.io, [&] {
      return one->heard == std::deque<std::string>{"OUTCOME_ACK LAST_WORD end"};
    }));
}

TEST_CASE("the next word comes over a new line, and who is not asked any more hears none",
          "[word_lines]") {
  Story story;
  Host host(story.io), voter(story.io);
  story.lines.set(Story::words({host.place(), voter.place()}, 1));
  REQUIRE(run_until(story.io, [&] { return story.given() == 2; }));
  story.lines.set(Story::words({voter.place()}, 2));
  REQUIRE(run_until(story.io, [&] { return story.given() == 3; }));
  REQUIRE(run_until(story.io, [&] { return host.heard.back() == "OUTCOME_ACK end"; }));
  story.guardian.words.speak();
  REQUIRE(run_until(story.io, [&] {
    return voter.heard == std::deque<std::string>{"OUTCOME_ACK end", "OUTCOME_ACK LAST_WORD end"};
  }));
  CHECK(host.heard.size() == 1);
}

TEST_CASE("who cannot be reached is called again, as is who hangs up", "[word_lines]") {
  Story story;
  std::optional<Host> host(story.io);
  auto const place = host->place();
  host.reset();
  story.lines.set(Story::words({place}, 1));
  REQUIRE(story.io.run_one() == 1);  // refused
  CHECK(story.given() == 0);
  host.emplace(story.io, place.port);
  REQUIRE(run_until(story.io, [&] { return story.given() == 1; }));
  host->connections.back()->close();
  REQUIRE(run_until(story.io, [&] { return story.given() == 2; }));
  story.guardian.words.speak();
  REQUIRE(run_until(story.io, [&] { return host->heard.back() == "OUTCOME_ACK LAST_WORD end"; }));
}

TEST_CASE("a word that no slot holds is not left, and harms nobody", "[word_lines]") {
  Story story;
  Host host(story.io);
  auto words = Story::words({host.place()}, 1);
  words.word.header.run_id = std::string(kLastWordBytes, 'r');
  story.lines.set(words);
  story.lines.set(Story::words({host.place()}, 2));
  REQUIRE(run_until(story.io, [&] { return story.given() == 1; }));
  story.guardian.words.speak();
  REQUIRE(run_until(story.io, [&] { return host.heard.size() == 1; }));
  REQUIRE(run_until(story.io, [&] { return host.heard.back() == "OUTCOME_ACK LAST_WORD end"; }));
}
