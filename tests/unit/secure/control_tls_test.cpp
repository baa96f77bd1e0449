// SPDX-License-Identifier: Apache-2.0
// TLS beneath control connections over real sockets.
#include "rendezvous/net/server.hpp"
#include "tests/unit/secure/secured.hpp"

using namespace muster;
using namespace muster::net;
using namespace muster::membership;

using control::Fault;
using control::Role;

TEST_CASE("letters pass in TLS, with a token inside it or without", "[secure]") {
  Conversation talk;
  auto const token = GENERATE(false, true);
  auto const security =
      with_tls("node", "ca", token ? std::optional(kToken) : std::optional<std::string>());
  talk.begin(security, security);
  Outcome large{false, 1, std::string(1u << 20, 'x'), {}};
  ControlConnection::send(talk.caller.connection, letter_of(large));
  REQUIRE(run_until(talk.io, [&] { return talk.host.letters.size() == 1; }));
  ControlConnection::send(talk.host.connection, letter_of(large));
  ControlConnection::finish(talk.host.connection);
  REQUIRE(run_until(talk.io, [&] { return talk.caller.end.has_value(); }));
  CHECK(talk.caller.letters.size() == 1);
  CHECK(talk.caller.end->code == Errc::closed);
}

TEST_CASE("TLS on one side only is refused in words on both sides", "[secure]") {
  Conversation talk;
  SECTION("the host asks for it") {
    talk.begin(nullptr, with_tls());
    REQUIRE(talk.until_ended());
    CHECK(talk.caller.end->what == "host bob asks for TLS; this node has no certificate");
    CHECK(talk.host.end->what == "host alice speaks without TLS; this node asks for it");
  }
  SECTION("the caller asks for it") {
    talk.begin(with_tls(), nullptr);
    REQUIRE(talk.until_ended());
    CHECK(talk.caller.end->what == "host bob speaks without TLS; this node asks for it");
    CHECK(talk.host.end->what == "host 127.0.0.1 asks for TLS; this node has no certificate");
  }
  CHECK(talk.caller.fault() == Fault::tls);
  CHECK(talk.host.fault() == Fault::tls);
  CHECK(talk.caller.end->code == Errc::refused);
}

TEST_CASE("a certificate that is refused is said on both sides", "[secure]") {
  Conversation talk;
  SECTION("the caller's") {
    talk.begin(with_tls("stranger", "ca"), with_tls());
  }
  SECTION("the host's") {
    talk.begin(with_tls(), with_tls("stranger", "ca"));
  }
  SECTION("out of date") {
    talk.begin(with_tls("expired"), with_tls());
  }
  REQUIRE(talk.until_ended());
  CHECK(talk.caller.fault() == Fault::certificate);
  CHECK(talk.host.fault() == Fault::certificate);
  CHECK(talk.caller.end->what.find("TLS handshake failed") != std::string::npos);
  CHECK(talk.host.end->what.find("TLS handshake failed") != std::string::npos);
  CHECK(talk.host.letters.empty());
}

TEST_CASE("a certificate does not stand in for the token", "[secure]") {
  Conversation talk;
  talk.begin(with_tls("node", "ca", kOtherToken), with_tls("node", "ca", kToken));
  REQUIRE(talk.until_ended());
  CHECK(talk.host.fault() == Fault::token);
  CHECK(talk.caller.fault() == Fault::token);
}

TEST_CASE("what is no muster is told apart from one without TLS", "[secure]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  Side caller;
  caller.start(std::move(client), Role::caller, with_tls());
  asio::write(server, asio::buffer("SSH-2.0-x\r\n", 11));
  REQUIRE(run_until(io, [&] { return caller.end.has_value(); }));
  CHECK(caller.fault() == Fault::foreign);
  CHECK(caller.end->code == Errc::protocol);
}

TEST_CASE("a listener tells TLS by its first bytes, in whichever pieces they come", "[secure]") {
  asio::io_context io{1};
  auto acceptor = listen_on(io, "127.0.0.1", 0);
  REQUIRE(acceptor);
  Side host;
  ServerOptions options;
  options.on_control = [&](tcp::socket socket, std::string bytes) {
    host.start(std::move(socket), Role::host, with_tls(), bytes);
  };
  Server server(*std::move(acceptor), std::move(options));
  tcp::socket socket(io);
  socket.connect({asio::ip::make_address("127.0.0.1"), server.port()});
  Side caller;
  caller.start(std::move(socket), Role::caller, with_tls());
  REQUIRE(run_until(io, [&] { return caller.greeted && host.greeted; }));
  CHECK(server.counters().control_connections == 1);
}
