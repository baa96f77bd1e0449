// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/endpoint_bind.hpp"

#include <catch2/catch.hpp>

using namespace muster::launch;

namespace {
using Addresses = std::vector<std::string>;
}

TEST_CASE("addresses are bound in an order that all processes of a machine share", "[links]") {
  CHECK(bind_addresses("head", "n1", {"10.0.0.2", "10.0.0.1", "10.0.0.2"}) ==
        Addresses{"10.0.0.1", "10.0.0.2"});
}

TEST_CASE("loopback that was asked for is loopback", "[links]") {
  CHECK(bind_addresses("localhost", "n1", {"127.0.0.1", "::1"}) == Addresses{"127.0.0.1", "::1"});
  CHECK(bind_addresses("127.0.0.1", "n1", {"127.0.0.1"}) == Addresses{"127.0.0.1"});
  CHECK(bind_addresses("10.1.1.1", "n1", {"10.1.1.1"}) == Addresses{"10.1.1.1"});
}

TEST_CASE("this machine's own name is bound on all addresses", "[links]") {
  // Its peers may resolve the name to another address than its own /etc/hosts does.
  CHECK(bind_addresses("n1", "n1", {"10.0.0.1"}) == Addresses{""});
  CHECK(bind_addresses("n1.cluster", "n1", {"127.0.1.1"}) == Addresses{""});
}

TEST_CASE("loopback addresses are told from others", "[links]") {
  CHECK(is_loopback_address("127.0.1.1"));
  CHECK(is_loopback_address("::1"));
  CHECK(is_loopback_address("::ffff:127.0.0.1"));
  CHECK_FALSE(is_loopback_address("10.0.0.1"));
  CHECK_FALSE(is_loopback_address("fd00::1"));
  CHECK_FALSE(is_loopback_address("name"));
}

TEST_CASE("names under .invalid never resolve", "[links]") {
  CHECK(can_never_resolve("head.invalid"));
  CHECK_FALSE(can_never_resolve("head.invalid.example"));
  CHECK_FALSE(can_never_resolve("head"));
}
