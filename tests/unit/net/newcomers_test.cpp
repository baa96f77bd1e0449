// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/newcomers.hpp"

#include "tests/unit/net/control_pair.hpp"

#include <deque>

using namespace muster;
using namespace muster::net;
using namespace muster::membership;
using namespace std::chrono_literals;

namespace {

Bounds bounds_with(std::size_t in_all, Duration patience = 1h) {
  Bounds bounds;
  bounds.lobby = {in_all, in_all, patience};
  return bounds;
}

// For hundreds of megabytes, also with a sanitizer on a busy machine.
constexpr Duration kMuch = 120s;

struct Hall {
  asio::io_context io{1};
  Newcomers newcomers;
  std::deque<tcp::socket> callers;
  std::vector<ControlConnection::Ptr> connections;
  int ended = 0, letters = 0;

  explicit Hall(Bounds const& bounds) : newcomers(io, bounds) {}
  ~Hall() {
    for (auto const& connection : connections) connection->close();
    io.restart();
    io.poll();
  }

  tcp::socket& call() {
    auto [client, server] = socket_pair(io);
    callers.push_back(std::move(client));
    auto const connection = std::make_shared<ControlConnection>(std::move(server), "here");
    connections.push_back(connection);
    newcomers.enter(connection);
    ControlConnection::Callbacks callbacks;
    callbacks.on_letter = [this, raw = connection.get()](control::Letter) {
      ++letters;
      newcomers.settle(*raw);
    };
    callbacks.on_end = [this, raw = connection.get()](Error const& error) {
      ++ended;
      newcomers.ended(*raw, error);
    };
    ControlConnection::start(connection, {}, std::move(callbacks));
    return callers.back();
  }
  // Another caller that sends all of it, or what is taken before it is closed; false after the
  // deadline.
  bool call_and_send(std::string const& bytes) {
    auto& socket = call();
    std::size_t sent = 0;
    socket.non_blocking(true);
    auto const taken = [&] {
      error_code ec;
      if (sent < bytes.size())
        sent += socket.write_some(asio::buffer(bytes.data() + sent, bytes.size() - sent), ec);
      return sent == bytes.size() || (ec && ec != asio::error::would_block);
    };
    return run_until(io, taken, kMuch);
  }
  std::uint64_t faults(control::Fault fault) const {
    return newcomers.counters().ended[static_cast<std::size_t>(fault)];
  }
};

std::string letter_bytes() {
  return control::frame(control::encode(letter_of(OutcomeAck{})));
}

}  // namespace

TEST_CASE("callers that say nothing make room and are counted", "[net]") {
  Hall hall(bounds_with(3));
  for (int i = 0; i < 10; ++i) hall.call();
  REQUIRE(run_until(hall.io, [&] { return hall.ended == 7; }));
  CHECK(hall.faults(control::Fault::crowded) == 7);
  CHECK(hall.newcomers.counters().newcomers == 3);
  CHECK(hall.newcomers.counters().accepted == 10);
  CHECK_FALSE(hall.connections[0]->is_open());
  CHECK(hall.connections[9]->is_open());
}

TEST_CASE("a caller that does not say in time for whom it speaks is closed", "[net]") {
  Hall hall(bounds_with(100, 500ms));
  auto& speaks = hall.call();
  auto& half = hall.call();
  asio::write(speaks, asio::buffer(control::plain_opening("a", "job") + letter_bytes()));
  asio::write(half, asio::buffer(control::plain_opening("b", "job") + letter_bytes().substr(0, 9)));
  REQUIRE(run_until(hall.io, [&] { return hall.ended == 1 && hall.letters == 1; }));
  CHECK(hall.faults(control::Fault::late) == 1);
  CHECK(hall.connections[0]->is_open());
  CHECK_FALSE(hall.connections[1]->is_open());
  CHECK(hall.newcomers.counters().newcomers == 0);
}

TEST_CASE("half letters of newcomers have a bound, the largest goes", "[net]") {
  Hall hall(bounds_with(100));
  std::string half = control::plain_opening("b", "job");
  half += control::frame(std::string(4u << 20, 'x'));
  half.pop_back();
  auto& small = hall.call();
  asio::write(small,
              asio::buffer(control::plain_opening("a", "job") + letter_bytes().substr(0, 9)));
  for (int i = 0; i < 17; ++i) REQUIRE(hall.call_and_send(half));
  REQUIRE(run_until(
      hall.io, [&] { return hall.ended > 0; }, kMuch));
  CHECK(hall.faults(control::Fault::crowded) >= 1);
  CHECK(hall.connections[0]->is_open());
}

TEST_CASE("half letters of those who have spoken have a bound of their own", "[net]") {
  Hall hall(bounds_with(100));
  std::string half = control::plain_opening("b", "job") + letter_bytes();
  half += control::frame(std::string(4u << 20, 'x'));
  half.pop_back();
  for (int i = 0; i < 65; ++i) REQUIRE(hall.call_and_send(half));
  REQUIRE(run_until(
      hall.io, [&] { return hall.ended > 0; }, kMuch));
  CHECK(hall.letters == 65);
  CHECK(hall.ended == 1);
  CHECK(hall.faults(control::Fault::crowded) == 1);
  CHECK(hall.newcomers.counters().newcomers == 0);
}

TEST_CASE("who has spoken in time is no late newcomer, though it was not heard in time", "[net]") {
  Hall hall(bounds_with(100, 0ms));  // its time is over before this process runs again
  asio::write(hall.call(), asio::buffer(control::plain_opening("a", "job") + letter_bytes()));
  REQUIRE(run_until(hall.io, [&] { return hall.letters + hall.ended == 1; }));
  CHECK(hall.letters == 1);
  CHECK(hall.connections[0]->is_open());
}

TEST_CASE("a place is given back when a connection goes, whoever ends it", "[net]") {
  Hall hall(bounds_with(100));
  hall.call();
  auto& leaves = hall.call();
  hall.connections[0]->close();
  leaves.close();
  REQUIRE(run_until(hall.io, [&] { return hall.ended == 1; }));
  CHECK(hall.newcomers.counters().newcomers == 0);
  CHECK(hall.faults(control::Fault::none) == 1);
}

TEST_CASE("connections outlive the place where they were counted", "[net]") {
  asio::io_context io{1};
  auto [client, server] = socket_pair(io);
  auto const connection = std::make_shared<ControlConnection>(std::move(server), "here");
  {
    Newcomers newcomers(io, bounds_with(1));
    newcomers.enter(connection);
  }
  ControlConnection::Callbacks callbacks;
  auto letters = 0;
  callbacks.on_letter = [&letters](control::Letter) { ++letters; };
  ControlConnection::start(connection, {}, std::move(callbacks));
  asio::write(client, asio::buffer(control::plain_opening("a", "job") + letter_bytes()));
  CHECK(run_until(io, [&] { return letters == 1; }));
  connection->close();
}
