// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/dialer.hpp"

#include "rendezvous/net/server.hpp"
#include "tests/unit/net/control_pair.hpp"

using namespace muster;
using namespace muster::net;

namespace {

struct Caller {
  int connected = 0, disconnected = 0, problems = 0;
  std::optional<Error> refused;
  std::optional<Dialer> dialer;

  void start(asio::io_context& io, std::string host, std::uint16_t port) {
    Dialer::Callbacks callbacks;
    callbacks.on_connected = [this](ControlConnection::Ptr const&) { ++connected; };
    callbacks.on_disconnected = [this] { ++disconnected; };
    callbacks.on_problem = [this](Error const&) { ++problems; };
    callbacks.on_refused = [this](Error const& error) { refused = error; };
    dialer.emplace(io, std::move(host), port, "here", std::move(callbacks));
    dialer->start();
  }
};

struct Greeter {
  std::vector<ControlConnection::Ptr> connections;
  std::optional<Server> server;

  void start(asio::io_context& io, std::uint16_t port) {
    auto acceptor = listen_on(io, "127.0.0.1", port);
    REQUIRE(acceptor);
    ServerOptions options;
    options.on_control = [this](tcp::socket socket, std::string bytes) {
      connections.push_back(std::make_shared<ControlConnection>(std::move(socket), "there"));
      ControlConnection::Callbacks callbacks;
      callbacks.on_letter = [](control::Letter) {};
      ControlConnection::start(connections.back(), bytes, std::move(callbacks));
    };
    server.emplace(*std::move(acceptor), std::move(options));
  }
  void hang_up() {
    for (auto const& connection : connections) connection->close();
  }
};

}  // namespace

TEST_CASE("a dialer calls until somebody answers, and again after a hang-up", "[net]") {
  asio::io_context io{1};
  std::uint16_t port = 0;
  {
    auto probe = listen_on(io, "127.0.0.1", 0);
    port = probe->local_endpoint().port();
  }
  Caller caller;
  caller.start(io, "127.0.0.1", port);
  REQUIRE(run_until(io, [&] { return caller.problems > 1; }));
  Greeter greeter;
  greeter.start(io, port);
  REQUIRE(run_until(io, [&] { return caller.connected == 1; }));
  greeter.hang_up();
  REQUIRE(run_until(io, [&] { return caller.connected == 2; }));
  CHECK(caller.disconnected == 1);
}

TEST_CASE("what listens without a greeting is refused after the patience", "[net]") {
  asio::io_context io{1};
  auto mute = listen_on(io, "127.0.0.1", 0);
  REQUIRE(mute);
  Caller caller;
  caller.start(io, "127.0.0.1", mute->local_endpoint().port());
  caller.dialer->set_greeting_patience(std::chrono::milliseconds{50});
  REQUIRE(run_until(io, [&] { return caller.refused.has_value(); }));
  CHECK(caller.refused->code == Errc::protocol);
}

TEST_CASE("a name that does not exist differs from a name server that does not answer", "[net]") {
  CHECK(unresolved("head", asio::error::host_not_found).code == Errc::not_found);
  CHECK(unresolved("head", asio::error::host_not_found_try_again).code == Errc::timeout);
  CHECK(unresolved("head", asio::error::host_not_found).what.find("head") != std::string::npos);
}

TEST_CASE("a name that does not resolve is a problem, not the end", "[net]") {
  asio::io_context io{1};
  Caller caller;
  caller.start(io, "nowhere.invalid", 1);
  REQUIRE(run_until(io, [&] { return caller.problems > 0; }));
  CHECK_FALSE(caller.refused);
}
