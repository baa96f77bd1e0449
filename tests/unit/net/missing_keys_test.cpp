// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/missing_keys.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("a time-out names what is missing, of how many, where and after how long", "[net]") {
  auto const error = net::missing_keys_error({"a", "b"}, 3, 1500ms, "host:1");
  CHECK(error.code == Errc::timeout);
  CHECK(error.what == "store host:1: waited 1500 ms for 3 keys; missing: 'a', 'b'");
}

TEST_CASE("of many missing keys the first ones are named", "[net]") {
  std::vector<std::string> const keys(20, "k");
  auto const error = net::missing_keys_error(keys, 20, 1ms, "host:1");
  CHECK_THAT(error.what, Catch::EndsWith("and 12 more"));
}
