// SPDX-License-Identifier: Apache-2.0
// TLS handshakes of many at once: each in its turn, others between them.
#include "rendezvous/net/newcomers.hpp"
#include "tests/unit/secure/secured.hpp"

#include <deque>

using namespace muster;
using namespace muster::net;

namespace {

struct Hall {
  asio::io_context io{1};
  Newcomers newcomers;
  Security::Ptr security = with_tls();
  std::deque<ControlConnection::Ptr> connections;
  std::deque<Side> callers;
  std::deque<tcp::socket> bad;
  std::uint64_t turns = 0;  // of everybody else
  std::vector<std::uint64_t> greeted_in;
  int crowded = 0;

  explicit Hall(std::size_t in_all = 10'000) : newcomers(io, bounds(in_all)) { others(); }
  ~Hall() {
    alive_.reset();
    for (auto const& connection : connections) connection->close();
    for (auto& caller : callers) caller.connection->close();
    io.restart();
    io.poll();
  }
  static Bounds bounds(std::size_t in_all) {
    Bounds bounds;
    bounds.lobby = {in_all, in_all, std::chrono::hours{1}};
    return bounds;
  }
  void others() {
    ++turns;
    asio::post(io, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) others();
    });
  }
  void take(tcp::socket socket, std::string const& bytes) {
    ControlSide side("host");
    side.security = security;
    auto const connection = std::make_shared<ControlConnection>(std::move(socket), side);
    connections.push_back(connection);
    newcomers.enter(connection);
    ControlConnection::Callbacks callbacks;
    callbacks.on_greeted = [this] { greeted_in.push_back(turns); };
    callbacks.on_letter = [](control::Letter const&) {};
    callbacks.on_end = [this, raw = connection.get()](Error const& error) {
      newcomers.ended(*raw, error);
      crowded += raw->fault() == control::Fault::crowded ? 1 : 0;
    };
    ControlConnection::start(connection, bytes, std::move(callbacks));
  }
  void call() {
    auto [client, server] = socket_pair(io);
    callers.emplace_back();
    callers.back().start(std::move(client), control::Role::caller, security);
    take(std::move(server), {});
  }
  // Says hello and nothing more.
  void call_badly(std::string const& hello) {
    auto [client, server] = socket_pair(io);
    bad.push_back(std::move(client));
    take(std::move(server), hello);
  }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

TEST_CASE("between two steps of TLS handshakes everybody else has a turn", "[secure]") {
  Hall hall;
  for (int i = 0; i < 30; ++i) hall.call();
  REQUIRE(run_until(hall.io, [&] { return hall.greeted_in.size() == 30; }));
  for (std::size_t i = 1; i < hall.greeted_in.size(); ++i)
    CHECK(hall.greeted_in[i] > hall.greeted_in[i - 1]);
}

TEST_CASE("handshakes that are not over have a bound, and a good one gets through", "[secure]") {
  Hall hall;
  auto const hello = hall.security->tls_session(control::Role::caller)->drain();
  for (int i = 0; i < 1'100; ++i) hall.call_badly(hello);
  hall.call();
  REQUIRE(run_until(hall.io, [&] { return hall.greeted_in.size() == 1; }));
  REQUIRE(run_until(hall.io, [&] { return hall.crowded >= 76; }));
  REQUIRE(run_until(hall.io, [&] { return hall.callers[0].greeted; }));
  CHECK_FALSE(hall.connections[0]->is_open());
}

TEST_CASE("who waits for our part of a handshake makes no room for latecomers", "[secure]") {
  Hall hall(4);
  auto const hello = hall.security->tls_session(control::Role::caller)->drain();
  for (int i = 0; i < 4; ++i) hall.call_badly(hello);
  for (int i = 0; i < 5; ++i) hall.io.poll_one();  // one of everybody else: all four have arrived
  hall.call_badly(hello);
  REQUIRE(run_until(hall.io, [&] { return hall.crowded == 1; }));
  CHECK_FALSE(hall.connections[4]->is_open());
  for (std::size_t i = 0; i < 4; ++i) CHECK(hall.connections[i]->is_open());
}
