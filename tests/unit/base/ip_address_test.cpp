// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/ip_address.hpp"

#include <catch2/catch.hpp>

using namespace muster;

namespace {

IpAddress ip(std::string_view text) {
  auto const address = parse_ip(text);
  REQUIRE(address);
  return *address;
}

}  // namespace

TEST_CASE("addresses of both families are read, names are not", "[base]") {
  CHECK_FALSE(ip("10.0.0.1").is_v6);
  CHECK(ip("fd77::1").is_v6);
  CHECK(ip("fe80::1%eth0") == ip("fe80::1"));
  for (auto const* text :
       {"", "head", "10.0.0", "10.0.0.1%eth0", "[::1]", "10.0.0.1:80", "1::2::3"})
    CHECK_FALSE(parse_ip(text));
}

TEST_CASE("an IPv4 address that came by an IPv6 socket is the IPv4 address", "[base]") {
  CHECK(ip("::ffff:10.0.0.7") == ip("10.0.0.7"));
  CHECK(to_string(ip("::ffff:10.0.0.7")) == "10.0.0.7");
  CHECK(to_string(ip("FD77:0::01")) == "fd77::1");
}

TEST_CASE("loopback and link-local addresses are told from others", "[base]") {
  for (auto const* text : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"}) {
    INFO(text);
    CHECK(is_loopback(ip(text)));
  }
  for (auto const* text : {"128.0.0.1", "::2", "1::1", "fd00::1"}) {
    INFO(text);
    CHECK_FALSE(is_loopback(ip(text)));
  }
  CHECK(is_link_local(ip("169.254.9.1")));
  CHECK(is_link_local(ip("febf::1")));
  CHECK_FALSE(is_link_local(ip("169.253.9.1")));
  CHECK_FALSE(is_link_local(ip("fec0::1")));
}

TEST_CASE("a link-local address of IPv6 goes with its interface", "[base]") {
  CHECK(with_zone("fe80::1", "eth0") == "fe80::1%eth0");
  CHECK(with_zone("fe80::1%ib3", "eth0") == "fe80::1%eth0");
  CHECK(with_zone("fe80::1", "") == "fe80::1");
  for (auto const* text : {"fd77::1", "169.254.0.1", "10.0.0.1", "head"})
    CHECK(with_zone(text, "eth0") == text);
}

TEST_CASE("a subnet is the first bits of an address", "[base]") {
  CHECK(same_subnet(ip("10.77.0.1"), ip("10.77.0.200"), 24));
  CHECK_FALSE(same_subnet(ip("10.77.0.1"), ip("10.77.1.1"), 24));
  CHECK(same_subnet(ip("10.77.0.1"), ip("10.77.1.1"), 23));
  CHECK(same_subnet(ip("10.0.0.1"), ip("192.168.0.1"), 0));
  CHECK_FALSE(same_subnet(ip("10.0.0.1"), ip("fd00::1"), 0));
  CHECK_FALSE(same_subnet(ip("10.0.0.1"), ip("10.0.0.2"), 32));
  CHECK(same_subnet(ip("fd77::1"), ip("fd77::ffff"), 64));
  CHECK_FALSE(same_subnet(ip("fd77::1"), ip("fd77:0:0:1::1"), 64));
  CHECK(subnet_text(ip("10.77.3.9"), 24) == "10.77.3.0/24");
  CHECK(subnet_text(ip("10.77.3.9"), 22) == "10.77.0.0/22");
  CHECK(subnet_text(ip("fd77::9"), 64) == "fd77::/64");
}

TEST_CASE("an endpoint is written as people type it", "[base]") {
  CHECK(endpoint_text("10.0.0.7", 5) == "10.0.0.7:5");
  CHECK(endpoint_text("head", 5) == "head:5");
  CHECK(endpoint_text("fd77::1", 5) == "[fd77::1]:5");
}
