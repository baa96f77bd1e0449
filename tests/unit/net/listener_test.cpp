// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/listener.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <fcntl.h>

using namespace muster;
using namespace muster::net;

TEST_CASE("a taken port is reported with its number and a remedy", "[net]") {
  asio::io_context io;
  auto const first = listen_on(io, "127.0.0.1", 0);
  REQUIRE(first);
  auto const port = first->local_endpoint().port();
  auto const second = listen_on(io, "127.0.0.1", port);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::address_in_use);
  CHECK_THAT(second.error().what, Catch::Contains(std::to_string(port)));
  CHECK_THAT(second.error().hint, Catch::Contains("ss -ltnp"));
}

TEST_CASE("an address of another host and an unknown name are reported as such", "[net]") {
  asio::io_context io;
  auto const foreign = listen_on(io, "192.0.2.1", 0);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == Errc::bad_input);
  CHECK_THAT(foreign.error().hint, Catch::Contains("not one of this host's"));
}

TEST_CASE("a port range skips what is taken and what is to be avoided", "[net]") {
  asio::io_context io;
  auto const taken = listen_on(io, "127.0.0.1", 0);
  REQUIRE(taken);
  auto const port = taken->local_endpoint().port();
  std::array<PortRange, 1> const one{{{port, port}}};
  auto const only = listen_in_ranges(io, "127.0.0.1", one, {});
  REQUIRE_FALSE(only);
  CHECK(only.error().code == Errc::address_in_use);
  CHECK_THAT(only.error().what, Catch::Contains("no free port"));
  std::array<PortRange, 2> const two{{{port, port}, {1024, 65535}}};
  auto const free = listen_in_ranges(io, "127.0.0.1", two, {});
  REQUIRE(free);
  auto const chosen = free->local_endpoint().port();
  CHECK(chosen >= 1024);
  CHECK(chosen != port);
  std::array<PortRange, 1> const same{{{chosen, chosen}}};
  std::array<std::uint16_t, 1> const avoid{chosen};
  CHECK_FALSE(listen_in_ranges(io, "127.0.0.2", same, avoid));
  CHECK(listen_in_ranges(io, "127.0.0.2", same, {}));
}

TEST_CASE("a listening socket is not inherited by workers", "[net]") {
  asio::io_context io;
  auto listening = listen_on(io, "", 0);
  REQUIRE(listening);
  CHECK((::fcntl(listening->native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("endpoints are written as people type them", "[net]") {
  CHECK(to_text({asio::ip::make_address("10.0.0.7"), 5}) == "10.0.0.7:5");
  CHECK(to_text({asio::ip::make_address("::1"), 5}) == "[::1]:5");
  CHECK(to_text({asio::ip::make_address("::ffff:10.0.0.7"), 5}) == "10.0.0.7:5");
}

TEST_CASE("a name is listened on at its IPv4 address where it has one", "[net]") {
  asio::io_context io;
  auto const listening = listen_on(io, "localhost", 0);
  REQUIRE(listening);
  CHECK(listening->local_endpoint().address().is_loopback());
  auto const unknown = listen_on(io, std::string(300, 'x'), 0);  // no name server is asked for that
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Errc::not_found);
}
