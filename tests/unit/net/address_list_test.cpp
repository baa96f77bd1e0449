// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/address_list.hpp"

#include <catch2/catch.hpp>

using namespace muster::net;

namespace {

auto address(char const* text) {
  return asio::ip::make_address(text);
}

bool admits(AddressList const& list, char const* peer, char const* local = "10.0.0.1") {
  return list.admits(address(peer), address(local));
}

}  // namespace

TEST_CASE("this machine is always admitted: loopback, and its own address", "[net]") {
  AddressList const list;
  CHECK(admits(list, "127.0.0.1"));
  CHECK(admits(list, "127.8.8.8"));
  CHECK(admits(list, "::1"));
  CHECK(admits(list, "::ffff:127.0.0.1"));
  CHECK(admits(list, "10.0.0.1"));
  CHECK(admits(list, "::ffff:10.0.0.1"));
  CHECK_FALSE(admits(list, "10.0.0.2"));
  CHECK_FALSE(admits(list, "::ffff:10.0.0.2"));
}

TEST_CASE("listed addresses are admitted in whichever form they are written", "[net]") {
  AddressList const list({"10.0.0.2", "::ffff:10.0.0.3", "fd77::2", "fe80::1%1", "no address", ""});
  CHECK(admits(list, "10.0.0.2"));
  CHECK(admits(list, "::ffff:10.0.0.2"));
  CHECK(admits(list, "10.0.0.3"));
  CHECK(admits(list, "fd77:0::2"));
  CHECK(admits(list, "fe80::1"));
  CHECK_FALSE(admits(list, "10.0.0.4"));
  CHECK_FALSE(admits(list, "fd77::3"));
  CHECK(admits(list, "fe80::1%2"));  // the zone is this machine's business
}

TEST_CASE("addresses are added to a list", "[net]") {
  AddressList list({"10.0.0.2"});
  list.add({"10.0.0.4", "fe80::4%eth0"});
  CHECK(admits(list, "10.0.0.2"));
  CHECK(admits(list, "::ffff:10.0.0.4"));
  CHECK(admits(list, "fe80::4%1"));
  CHECK_FALSE(admits(list, "10.0.0.3"));
}
