// SPDX-License-Identifier: Apache-2.0
// What strangers and bad clients may take of a server, and that others do not notice them.
#include "rendezvous/net/server.hpp"
#include "tests/unit/net/running_server.hpp"

using namespace muster;
using namespace muster::net;
using namespace std::chrono_literals;

namespace {

std::string const kPong = "abcd";
wire::Ping const kPing{0x64636261};

ServerCounters counters_of(RunningServer& running) {
  ServerCounters counters;
  running.on_thread([&] { counters = running.server->counters(); });
  return counters;
}

// Until the server's counters are as wanted; others are served meanwhile.
template <class F>
void await_counters(RunningServer& running, F const& wanted) {
  auto const deadline = soon();
  while (!wanted(counters_of(running))) REQUIRE_FALSE(deadline.passed(now()));
}

void check_serves(RawClient& client) {
  client.send(kPing);
  CHECK(client.receive(4) == kPong);
}

std::string set_of(std::size_t bytes) {
  std::string const value(bytes, 'x');
  std::string request;
  wire::encode(wire::Set{"/big", value}, request);
  return request;
}

}  // namespace

TEST_CASE("silent connections make room for each other, and clients do not notice", "[net]") {
  ServerOptions options;
  options.bounds.lobby.in_all = 8;
  RunningServer running(std::move(options));
  auto good = greeted(running.port);
  check_serves(good);
  std::vector<RawClient> silent;
  for (int i = 0; i < 50; ++i) {
    silent.emplace_back(running.port);
    check_serves(good);
  }
  await_counters(running, [](auto const& c) { return c.crowded == 42; });
  running.on_thread([&] { CHECK(running.server->connections() == 9); });
  auto late = greeted(running.port);
  check_serves(late);
  CHECK(silent.front().receive_all().empty());
}

TEST_CASE("who has spoken but was not read yet is no silent connection", "[net]") {
  ServerOptions options;
  options.bounds.lobby.in_all = 4;
  RunningServer running(std::move(options));
  std::vector<RawClient> clients;
  running.on_thread([&] {  // the server stands still while they all come
    for (int i = 0; i < 40; ++i) {
      clients.push_back(greeted(running.port));
      clients.back().send(kPing);
    }
  });
  for (auto& client : clients) CHECK(client.receive(4) == kPong);
  CHECK(counters_of(running).crowded == 0);
}

TEST_CASE("a connection that is handed over while it makes room loses no byte", "[net]") {
  std::vector<std::pair<tcp::socket, std::string>> taken;
  ServerOptions options;
  options.bounds.lobby.in_all = 1;
  options.on_control = [&](tcp::socket socket, std::string bytes) {
    taken.emplace_back(std::move(socket), std::move(bytes));
  };
  RunningServer running(std::move(options));
  RawClient first(running.port);
  await_counters(running, [](auto const& c) { return c.accepted == 1; });
  std::optional<RawClient> second;
  running.on_thread([&] {
    first.send("MUSTER");
    second.emplace(running.port);
  });
  await_counters(running, [](auto const& c) { return c.control_connections == 1; });
  first.send(" and more");
  std::string more(9, '\0');
  running.on_thread([&] {
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].second == "MUSTER");
    taken[0].first.non_blocking(false);
    asio::read(taken[0].first, asio::buffer(more));
  });
  CHECK(more == " and more");
  CHECK(counters_of(running).crowded == 0);
  running.join();
  taken.clear();
}

TEST_CASE("a first request that is not whole in time is closed, an idle client is not", "[net]") {
  ServerOptions options;
  options.bounds.lobby.patience = 500ms;
  RunningServer running(std::move(options));
  auto idle = greeted(running.port), half = greeted(running.port), later = greeted(running.port);
  check_serves(later);
  half.send(set_of(100).substr(0, 50));
  later.send(set_of(100).substr(0, 50));
  CHECK(half.receive_all().empty());
  CHECK(counters_of(running).late_greetings == 1);
  check_serves(idle);
  later.send(set_of(100).substr(50));
  check_serves(later);
}

TEST_CASE("a closed store serves control and nobody else", "[net]") {
  std::vector<tcp::socket> taken;
  ServerOptions options;
  options.serves_store = false;
  options.on_control = [&](tcp::socket socket, std::string) { taken.push_back(std::move(socket)); };
  RunningServer running(std::move(options));
  auto store = greeted(running.port);
  CHECK(store.receive_all().empty());
  RawClient control(running.port);
  control.send("MUSTER");
  await_counters(running, [](auto const& c) { return c.control_connections == 1; });
  CHECK(counters_of(running).store_closed == 1);
  running.join();
  taken.clear();
}

TEST_CASE("a TLS handshake goes to who speaks control, and is unknown where nobody does", "[net]") {
  std::string bytes;
  ServerOptions options;
  options.on_control = [&](tcp::socket, std::string first) { bytes = std::move(first); };
  RunningServer with(std::move(options)), without;
  for (auto* running : {&with, &without}) {
    RawClient client(running->port);
    client.send("\x16\x03\x01");
    CHECK(client.receive_all().empty());
  }
  CHECK(counters_of(without).unknown_greetings == 1);
  with.join();
  CHECK(bytes == "\x16\x03\x01");
}

TEST_CASE("this machine uses a store for members, whoever they are", "[net]") {
  ServerOptions options;
  options.allow = std::vector<std::string>{"192.0.2.1"};
  RunningServer running(std::move(options));
  auto client = greeted(running.port);
  check_serves(client);
  running.on_thread([&] { running.server->allow_only({}); });
  auto other = greeted(running.port);
  check_serves(other);
}

TEST_CASE("the store has a most of clients, and files are left for others", "[net]") {
  ServerOptions options;
  options.bounds.clients = 2;
  RunningServer running(std::move(options));
  auto a = greeted(running.port), b = greeted(running.port);
  check_serves(a);
  check_serves(b);
  auto c = greeted(running.port);
  CHECK(c.receive_all().empty());
  CHECK(counters_of(running).crowded == 1);
  a.close();
  auto const deadline = soon();
  for (std::size_t open = 2; open == 2;) {
    REQUIRE_FALSE(deadline.passed(now()));
    running.on_thread([&] { open = running.server->connections(); });
  }
  auto d = greeted(running.port);
  check_serves(d);
}

TEST_CASE("large requests wait for each other's memory, small ones do not", "[net]") {
  ServerOptions options;
  options.bounds.requests.in_all = 1u << 20;
  options.bounds.requests.patience = 1h;
  RunningServer running(std::move(options));
  auto first = greeted(running.port), second = greeted(running.port), small = greeted(running.port);
  auto const request = set_of(2u << 20);
  first.send(request.substr(0, request.size() / 2));
  auto sent = second.send_beside(request);
  await_counters(running, [](auto const& c) { return c.held_back == 1; });
  check_serves(small);
  first.send(request.substr(request.size() / 2));  // who began first goes on
  check_serves(first);
  REQUIRE(sent.get());
  check_serves(second);
  CHECK(counters_of(running).violations == 0);
}

TEST_CASE("a client that is gone gives its memory back", "[net]") {
  ServerOptions options;
  options.bounds.requests.in_all = 1u << 20;
  options.bounds.requests.patience = 1h;
  RunningServer running(std::move(options));
  auto first = greeted(running.port), second = greeted(running.port);
  auto const request = set_of(2u << 20);
  first.send(request.substr(0, request.size() / 2));
  auto sent = second.send_beside(request);
  await_counters(running, [](auto const& c) { return c.held_back == 1; });
  first.close();
  REQUIRE(sent.get());
  check_serves(second);
}

TEST_CASE("who keeps others waiting with a slow request is closed", "[net]") {
  ServerOptions options;
  options.bounds.requests = {1u << 20, 64u << 10, 30ms, 1u << 30};
  RunningServer running(std::move(options));
  auto slow = greeted(running.port), second = greeted(running.port);
  check_serves(slow);
  auto const request = set_of(2u << 20);
  slow.send(request.substr(0, request.size() / 2));
  auto sent = second.send_beside(request);
  CHECK(slow.receive_all().empty());
  REQUIRE(sent.get());
  check_serves(second);
  CHECK(counters_of(running).slow_requests == 1);
}
