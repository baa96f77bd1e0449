// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/endpoint_bind.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>

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

TEST_CASE("a place that is each machine itself is told from others", "[links]") {
  for (auto const* place : {"", "localhost", "job.localhost", "ip6-localhost", "127.0.0.1", "::1"})
    CHECK(is_loopback_place(place));
  for (auto const* place : {"ip6-lab3", "head", "10.0.0.1"}) CHECK_FALSE(is_loopback_place(place));
}

TEST_CASE("a node listens at an address that is its own, else everywhere", "[links]") {
  std::vector<muster::membership::NodeNetwork> const networks{{"eth0", "10.0.0.1", 24, false},
                                                              {"ib0", "fe80::1", 64, false}};
  CHECK(listen_address("10.0.0.1", networks) == "10.0.0.1");
  CHECK(listen_address("127.0.0.1", networks) == "127.0.0.1");
  CHECK(listen_address("::1", networks) == "::1");
  CHECK(listen_address("fe80::1", networks) == "fe80::1%ib0");
  CHECK(listen_address("203.0.113.9", networks).empty());
  CHECK(listen_address("n1.example", networks).empty());
  CHECK(listen_address("", networks).empty());
}

TEST_CASE("a link-local address is dialled by this node's own interface", "[links]") {
  std::vector<muster::membership::NodeNetwork> const networks{{"eth0", "10.0.0.1", 24, false},
                                                              {"ib0", "fe80::1", 64, false}};
  CHECK(dial_address("fe80::2", networks) == "fe80::2%ib0");
  CHECK(dial_address("10.0.0.2", networks) == "10.0.0.2");
  CHECK(dial_address("fe80::2", {}) == "fe80::2");
}

// Clang's check of virtual tables opens a pipe for each new one, and takes it for broken where it
// gets none.
#ifdef __has_feature
#if __has_feature(undefined_behavior_sanitizer)
#define MUSTER_NEEDS_DESCRIPTORS
#endif
#endif

#ifndef MUSTER_NEEDS_DESCRIPTORS
TEST_CASE("a node without descriptors does not take the endpoint for another's", "[links]") {
  muster::net::asio::io_context io(1);
  muster::net::tcp::acceptor const other(io, muster::net::tcp::v4());  // what they share is open
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit const none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  auto const bound = bind_endpoint(io, {"127.0.0.1"}, 0);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  auto const* error = std::get_if<muster::Error>(&bound);
  REQUIRE(error != nullptr);
  CHECK(error->hint.find("ulimit -n") != std::string::npos);
}
#endif

TEST_CASE("names under .invalid never resolve", "[links]") {
  CHECK(can_never_resolve("head.invalid"));
  CHECK_FALSE(can_never_resolve("head.invalid.example"));
  CHECK_FALSE(can_never_resolve("head"));
}
