// SPDX-License-Identifier: Apache-2.0
// Stores of rounds on real sockets: which port each round gets.
#include "launcher/agent/round_stores.hpp"

#include "rendezvous/net/listener.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <unistd.h>

using namespace muster;
using namespace muster::launch;
namespace asio = net::asio;

namespace {

// Ports in a row, of which most are free now.
PortRange some_ports(asio::io_context& io) {
  auto const probe = net::listen_on(io, "", 0);
  REQUIRE(probe);
  auto const port = std::min<unsigned>(probe->local_endpoint().port(), 65'400);
  return {static_cast<std::uint16_t>(port), static_cast<std::uint16_t>(port + 63)};
}

bool answers(asio::io_context& io, std::uint16_t port) {
  net::tcp::socket socket(io);
  net::error_code ec;
  socket.connect({asio::ip::address_v4::loopback(), port}, ec);
  return !ec;
}

RunOptions meeting() {
  RunOptions options;
  options.rendezvous = Rendezvous::c10d;
  options.endpoint = Endpoint{"head", 29400};
  return options;
}

StoreWish wish(std::uint64_t round) {
  return {RoundNumber{round}, "", {}};
}

}  // namespace

TEST_CASE("a round's store takes a port of the user's, and no round of the last eight had it",
          "[links]") {
  asio::io_context io{1};
  auto const range = some_ports(io);
  auto options = meeting();
  options.store_ports = {range};
  RoundStores stores(io, options);
  std::vector<std::uint16_t> used;
  for (std::uint64_t round = 1; round <= 24; ++round) {
    auto const port = stores.open(wish(round));
    if (!port) FAIL(to_string(port.error()));
    CHECK(range.contains(*port));
    auto const recent = used.size() > kPortRests ? used.end() - kPortRests : used.begin();
    CHECK(std::find(recent, used.end(), *port) == used.end());
    stores.close_before(RoundNumber{round});
    used.push_back(*port);
  }
  CHECK(std::set<std::uint16_t>(used.begin(), used.end()).size() < used.size());  // they come back
}

TEST_CASE("the store of the round before answers until the next one begins", "[links]") {
  asio::io_context io{1};
  RoundStores stores(io, meeting());
  auto const first = stores.open(wish(1)), second = stores.open(wish(2));
  REQUIRE((first && second));
  CHECK(*first != *second);
  CHECK(answers(io, *first));
  stores.close_before(RoundNumber{2});
  CHECK_FALSE(answers(io, *first));
  CHECK(answers(io, *second));
  stores.close_all();
  CHECK_FALSE(answers(io, *second));
}

TEST_CASE("one node's store is on loopback, at a fixed port again and again", "[links]") {
  asio::io_context io{1};
  RunOptions options;
  RoundStores anywhere(io, options);
  auto const port = anywhere.open(wish(1));
  REQUIRE(port);
  CHECK(answers(io, *port));
  anywhere.close_all();
  options.endpoint = Endpoint{"127.0.0.1", *port};
  RoundStores fixed(io, options);
  CHECK(*fixed.open(wish(1)) == *port);
  CHECK(*fixed.open(wish(2)) == *port);
  RoundStores second(io, options);
  auto const taken = second.open(wish(1));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == Errc::address_in_use);
  CHECK_THAT(taken.error().hint, Catch::StartsWith("pid " + std::to_string(::getpid())) &&
                                     Catch::Contains("choose another port with --master-port"));
}
