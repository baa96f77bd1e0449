// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/port_holder.hpp"

#include "rendezvous/net/listener.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

using namespace muster;
using namespace muster::net;

TEST_CASE("sockets that listen at a port are found in the kernel's table", "[net]") {
  constexpr char kTable[] =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:7308 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "4711 1 0000000000000000 100 0 0 10 0\n"
      "   1: 0100007F:7308 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 "
      "4712 1 0000000000000000 20 4 30 10 -1\n"
      "   2: 00000000000000000000000001000000:7308 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000  1000        0 4713 1 0000000000000000 100 0 0 10 0\n"
      "   3: 00000000:7309 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "4714 1 0000000000000000 100 0 0 10 0\n";
  CHECK(listening_sockets(kTable, 0x7308) == std::vector<std::uint64_t>{4711, 4713});
  CHECK(listening_sockets(kTable, 1).empty());
  CHECK(listening_sockets("nonsense\n\n0: x 0A", 0x7308).empty());
}

TEST_CASE("who listens at a port is named with its command and user", "[net]") {
  asio::io_context io;
  std::uint16_t port = 0;
  {
    auto const listening = listen_on(io, "127.0.0.1", 0);
    REQUIRE(listening);
    port = listening->local_endpoint().port();
    auto const holder = port_holder(port);
    REQUIRE(holder);
    CHECK_THAT(*holder, Catch::StartsWith("pid " + std::to_string(::getpid()) + " (") &&
                            Catch::Contains("net_test") &&
                            Catch::EndsWith(", user " + std::to_string(::getuid())));
    auto const again = listen_on(io, "127.0.0.1", port);
    REQUIRE_FALSE(again);
    auto const named = name_port_holder(again.error(), port, "choose another with --master-port");
    CHECK(named.what == again.error().what);
    CHECK(named.hint == *holder + " has it; stop it, or choose another with --master-port");
  }
  CHECK_FALSE(port_holder(port));
  CHECK(name_port_holder({Errc::timeout, "late", "wait"}, port, "x").hint == "wait");
}
