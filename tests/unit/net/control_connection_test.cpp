// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/net/control_pair.hpp"

using namespace muster;
using namespace muster::net;
using namespace muster::membership;

namespace {

struct Side {
  ControlConnection::Ptr connection;
  bool greeted = false;
  std::vector<control::Letter> letters;
  std::optional<Error> end;

  void start(tcp::socket socket, std::string const& bytes = {}) {
    connection = std::make_shared<ControlConnection>(std::move(socket), "here");
    ControlConnection::Callbacks callbacks;
    callbacks.on_greeted = [this] { greeted = true; };
    callbacks.on_letter = [this](control::Letter letter) { letters.push_back(std::move(letter)); };
    callbacks.on_end = [this](Error const& error) { end = error; };
    ControlConnection::start(connection, bytes, std::move(callbacks));
  }
  ~Side() {
    if (connection) connection->close();
  }
};

}  // namespace

TEST_CASE("letters arrive in order, also those sent before the greeting", "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side a, b;
  a.start(std::move(client));
  for (std::uint64_t i = 1; i <= 100; ++i)
    ControlConnection::send(a.connection, letter_of(Done{RoundNumber{i}}));
  b.start(std::move(server));
  REQUIRE(run_until(io, [&] { return b.letters.size() == 100; }));
  CHECK(std::get<Done>(b.letters[99].message).round == RoundNumber{100});
  CHECK(a.greeted);
  CHECK(b.connection->peer_address() == "127.0.0.1");
}

TEST_CASE("what was sent before finish() arrives although the peer has more to say", "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side a, b;
  a.start(std::move(client));
  b.start(std::move(server));
  REQUIRE(run_until(io, [&] { return a.greeted && b.greeted; }));
  for (int i = 0; i < 50; ++i) ControlConnection::send(a.connection, letter_of(Lease{}));
  ControlConnection::send(b.connection, letter_of(Refused{Errc::refused, "no", ""}));
  ControlConnection::finish(b.connection);
  REQUIRE(run_until(io, [&] { return a.end.has_value(); }));
  CHECK(a.letters.size() == 1);
  CHECK(a.end->code == Errc::closed);
  CHECK_FALSE(b.end);
}

TEST_CASE("what is finished ends also where the peer does not read what it is owed", "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side b;
  b.start(std::move(server));
  asio::write(client, asio::buffer(control::plain_opening("a", "job")));
  REQUIRE(run_until(io, [&] { return b.greeted; }));
  Outcome const big{false, 1, std::string(1u << 20, 'x'), {}};
  for (int i = 0; i < 6; ++i) {  // more than the two sockets hold, in pieces below the bound
    ControlConnection::send(b.connection, letter_of(big));
    io.restart();
    io.poll();
  }
  REQUIRE_FALSE(b.end);
  ControlConnection::finish(b.connection, std::chrono::milliseconds{20});
  CHECK(b.connection->is_open());
  REQUIRE(run_until(io, [&] { return !b.connection->is_open(); }));
}

TEST_CASE("a peer of another protocol or version is told apart", "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side b;
  b.start(std::move(server));
  SECTION("not ours") {
    asio::write(client, asio::buffer("SSH-2.0-OpenSSH\r\n", 17));
    REQUIRE(run_until(io, [&] { return b.end.has_value(); }));
    CHECK(b.end->code == Errc::protocol);
  }
  SECTION("another version") {
    asio::write(client, asio::buffer("MUSTER\x63\n", 8));
    REQUIRE(run_until(io, [&] { return b.end.has_value(); }));
    CHECK(b.end->code == Errc::refused);
    CHECK(b.end->what.find("99") != std::string::npos);
    std::string bytes(control::kGreetingBytes, '\0');
    asio::read(client, asio::buffer(bytes));
    CHECK(bytes == control::greeting());  // so that the peer can say it, too
    CHECK(b.connection->fault() == control::Fault::version);
  }
  SECTION("garbage after the greeting") {
    asio::write(client,
                asio::buffer(control::plain_opening("a", "job") + control::frame("garbage")));
    REQUIRE(run_until(io, [&] { return b.end.has_value(); }));
    CHECK(b.end->code == Errc::protocol);
  }
}

TEST_CASE("a peer that does not read is given up at a bound", "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side b;
  b.start(std::move(server));
  Outcome big{false, 1, std::string(1u << 20, 'x'), {}};
  for (int i = 0; i < 64 && !b.end; ++i) {
    ControlConnection::send(b.connection, letter_of(big));
    io.restart();
    io.poll();
  }
  REQUIRE(b.end);
  CHECK(b.end->code == Errc::limit);
}

TEST_CASE("bytes that a server has read already count", "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side b;
  b.start(std::move(server), control::plain_opening("a", "job") +
                                 control::frame(control::encode(letter_of(OutcomeAck{}))));
  REQUIRE(run_until(io, [&] { return b.letters.size() == 1; }));
}

TEST_CASE("that a connection is closed is told once, whoever closes it, also after finish()",
          "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side a, b;
  a.start(std::move(client));
  b.start(std::move(server));
  int told = 0;
  ControlConnection::when_closed(b.connection, [&told] { ++told; });
  REQUIRE(run_until(io, [&] { return a.greeted && b.greeted; }));
  CHECK(told == 0);
  SECTION("the peer, when it has heard that we do") {
    ControlConnection::finish(b.connection);
  }
  SECTION("the peer") {
    a.connection->close();
  }
  SECTION("we, at once: not from inside the call") {
    b.connection->close();
    CHECK(told == 0);
  }
  REQUIRE(run_until(io, [&] { return told == 1; }));
  ControlConnection::when_closed(b.connection, [&told] { ++told; });
  REQUIRE(run_until(io, [&] { return told == 2; }));
}
