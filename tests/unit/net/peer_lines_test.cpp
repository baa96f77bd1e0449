// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/peer_lines.hpp"

#include "rendezvous/net/server.hpp"
#include "tests/unit/net/control_pair.hpp"

#include <optional>

using namespace muster;
using namespace muster::net;
using namespace muster::membership;

namespace {

// Answers each ASK.
struct Peer {
  std::vector<ControlConnection::Ptr> connections;
  int letters = 0;
  std::optional<Server> server;

  void start(asio::io_context& io, std::uint16_t port = 0) {
    auto acceptor = listen_on(io, "127.0.0.1", port);
    REQUIRE(acceptor);
    ServerOptions options;
    options.on_control = [this](tcp::socket socket, std::string bytes) {
      auto const connection = std::make_shared<ControlConnection>(std::move(socket), "there");
      connections.push_back(connection);
      ControlConnection::Callbacks callbacks;
      callbacks.on_letter = [this, weak = std::weak_ptr(connection)](control::Letter const&) {
        ++letters;
        ControlConnection::send(weak.lock(), letter_of(Answer{}));
      };
      ControlConnection::start(connection, bytes, std::move(callbacks));
    };
    server.emplace(*std::move(acceptor), std::move(options));
  }
  ~Peer() {
    for (auto const& connection : connections) connection->close();
  }
  Place place() const { return {"127.0.0.1", server->port()}; }
};

struct Caller {
  asio::io_context io{1};
  int answers = 0;
  PeerLines lines{io, "here", [this](control::Letter const&) { ++answers; }};
};

}  // namespace

TEST_CASE("letters to one peer share a line, and its answers come back", "[net]") {
  Caller caller;
  Peer one, two;
  one.start(caller.io);
  two.start(caller.io);
  caller.lines.send(one.place(), letter_of(Ask{}));
  caller.lines.send(one.place(), letter_of(Ask{}));
  caller.lines.send(two.place(), letter_of(Ask{}));
  REQUIRE(run_until(caller.io, [&] { return caller.answers == 3; }));
  CHECK(one.letters == 2);
  CHECK(one.connections.size() == 1);
  CHECK(two.letters == 1);
  CHECK(caller.lines.open_lines() == 2);
}

TEST_CASE("letters wait for a peer that is not there yet, the newest ones", "[net]") {
  Caller caller;
  Peer peer;
  peer.start(caller.io);
  auto const place = peer.place();
  peer.server.reset();
  for (int i = 0; i < 100; ++i) caller.lines.send(place, letter_of(Ask{}));
  Peer late;
  late.start(caller.io, place.port);
  REQUIRE(run_until(caller.io, [&] { return caller.answers > 0; }));
  caller.lines.send(place, letter_of(Ask{}));
  REQUIRE(run_until(caller.io, [&] { return caller.answers == late.letters; }));
  CHECK(late.letters < 50);
}

TEST_CASE("a line that was dropped is made anew when it is wanted", "[net]") {
  Caller caller;
  Peer peer;
  peer.start(caller.io);
  caller.lines.send(peer.place(), letter_of(Ask{}));
  REQUIRE(run_until(caller.io, [&] { return caller.answers == 1; }));
  caller.lines.clear();
  CHECK(caller.lines.open_lines() == 0);
  caller.lines.send(peer.place(), letter_of(Ask{}));
  REQUIRE(run_until(caller.io, [&] { return caller.answers == 2; }));
  CHECK(peer.connections.size() == 2);
}

TEST_CASE("what is no peer is left alone", "[net]") {
  Caller caller;
  Peer peer;
  auto other = listen_on(caller.io, "127.0.0.1", 0);
  REQUIRE(other);
  std::optional<tcp::socket> accepted;
  other->async_accept([&](error_code const& ec, tcp::socket socket) {
    if (ec) return;
    accepted.emplace(std::move(socket));
    error_code ignored;
    asio::write(*accepted, asio::buffer("220 mail.example.org\n", 21), ignored);
  });
  caller.lines.send({"127.0.0.1", other->local_endpoint().port()}, letter_of(Ask{}));
  REQUIRE(run_until(caller.io, [&] { return accepted.has_value(); }));
  REQUIRE(run_until(caller.io, [&] { return caller.lines.open_lines() == 0; }));
}
