// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/dialer.hpp"

#include "rendezvous/net/server.hpp"
#include "tests/unit/net/control_pair.hpp"

#include <filesystem>
#include <iterator>

using namespace muster;
using namespace muster::net;

namespace {

struct Caller {
  int connected = 0, letters = 0, disconnected = 0, problems = 0, refusals = 0;
  std::optional<Error> refused;
  bool stops_when_refused = true;
  std::vector<Place> reached;
  std::optional<Dialer> dialer;

  void start(asio::io_context& io, std::vector<Place> places) {
    Dialer::Callbacks callbacks;
    callbacks.on_connected = [this](ControlConnection::Ptr const&) {
      ++connected;
      reached.push_back(dialer->place());
    };
    callbacks.on_letter = [this](control::Letter const&) { ++letters; };
    callbacks.on_disconnected = [this] { ++disconnected; };
    callbacks.on_problem = [this](Error const&) { ++problems; };
    callbacks.on_refused = [this](Error const& error) {
      refused = error;
      ++refusals;
      if (stops_when_refused) dialer->stop();
    };
    dialer.emplace(io, std::move(places), "here", std::move(callbacks));
    dialer->start();
  }
  void start(asio::io_context& io, std::string host, std::uint16_t port) {
    start(io, {{std::move(host), port}});
  }
};

std::ptrdiff_t threads() {
  auto const tasks = std::filesystem::directory_iterator("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

std::uint16_t free_port(asio::io_context& io) {
  auto probe = listen_on(io, "127.0.0.1", 0);
  REQUIRE(probe);
  return probe->local_endpoint().port();
}

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
  auto const port = free_port(io);
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

TEST_CASE("what listens without a greeting is called again, and refused in the long run", "[net]") {
  asio::io_context io{1};
  auto mute = listen_on(io, "127.0.0.1", 0);
  REQUIRE(mute);
  Caller caller;
  caller.start(io, "127.0.0.1", mute->local_endpoint().port());
  caller.dialer->set_greeting_patience(std::chrono::milliseconds{50});
  SECTION("it is nobody") {
    caller.dialer->set_silence_patience(std::chrono::milliseconds{300});
    REQUIRE(run_until(io, [&] { return caller.refused.has_value(); }));
    CHECK(caller.refused->code == Errc::protocol);
    CHECK(caller.problems > 0);
  }
  SECTION("it had no time") {
    REQUIRE(run_until(io, [&] { return caller.problems > 1; }));
    CHECK_FALSE(caller.refused);
    auto const port = mute->local_endpoint().port();
    mute->close();
    Greeter greeter;
    greeter.start(io, port);
    REQUIRE(run_until(io, [&] { return caller.connected == 1; }));
  }
}

TEST_CASE("whoever is refused goes on calling unless it stops", "[net]") {
  asio::io_context io{1};
  auto mute = listen_on(io, "127.0.0.1", 0);
  REQUIRE(mute);
  Caller caller;
  caller.stops_when_refused = false;
  caller.start(io, "127.0.0.1", mute->local_endpoint().port());
  caller.dialer->set_greeting_patience(std::chrono::milliseconds{20});
  caller.dialer->set_silence_patience({});
  REQUIRE(run_until(io, [&] { return caller.refusals > 1; }));
  CHECK(caller.connected == 0);
}

TEST_CASE("places are called in turn, and the one that spoke first again", "[net]") {
  asio::io_context io{1};
  auto const dead = free_port(io), alive = free_port(io);
  Greeter greeter;
  greeter.start(io, alive);
  Caller caller;
  caller.start(io, {{"127.0.0.1", dead}, {"127.0.0.1", alive}});
  REQUIRE(run_until(io, [&] { return caller.connected == 1; }));
  CHECK(caller.problems == 1);
  ControlConnection::send(greeter.connections.back(), letter_of(membership::Released{}));
  REQUIRE(run_until(io, [&] { return caller.letters == 1; }));
  greeter.hang_up();
  REQUIRE(run_until(io, [&] { return caller.connected == 2; }));
  CHECK(caller.problems == 1);
  CHECK(caller.reached == std::vector<Place>(2, {"127.0.0.1", alive}));
}

TEST_CASE("a place that is not the wanted one is skipped", "[net]") {
  asio::io_context io{1};
  Greeter first, second;
  auto const one = free_port(io), two = free_port(io);
  first.start(io, one);
  second.start(io, two);
  Caller caller;
  caller.start(io, {{"127.0.0.1", one}, {"127.0.0.1", two}});
  REQUIRE(run_until(io, [&] { return caller.connected == 1; }));
  caller.dialer->skip();
  REQUIRE(run_until(io, [&] { return caller.connected == 2; }));
  caller.dialer->skip();
  REQUIRE(run_until(io, [&] { return caller.connected == 3; }));
  CHECK(caller.reached ==
        std::vector<Place>{{"127.0.0.1", one}, {"127.0.0.1", two}, {"127.0.0.1", one}});
  CHECK(caller.disconnected == 0);  // it was our own wish
}

TEST_CASE("a place is written as people write it", "[net]") {
  CHECK(to_text(Place{"head", 29400}) == "head:29400");
  CHECK(to_text(Place{"fd77::1", 29400}) == "[fd77::1]:29400");
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

TEST_CASE("an address is called without the thread that looks up names", "[net]") {
  asio::io_context io{1};
  auto const port = free_port(io);
  Greeter greeter;
  greeter.start(io, port);
  auto const before = threads();
  Caller caller;
  caller.start(io, "127.0.0.1", port);
  REQUIRE(run_until(io, [&] { return caller.connected == 1; }));
  CHECK(threads() == before);
}
