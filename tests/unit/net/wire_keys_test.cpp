// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/wire_keys.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::net;

TEST_CASE("a user's key has a slash on the wire and none in a listing", "[net]") {
  CHECK(wire_key("k") == "/k");
  CHECK(wire_key("") == "/");
  CHECK(without_slash({"/k", "init/", "/", "//d"}) == std::vector<std::string>{"k", "", "/d"});
}

TEST_CASE("lists of keys are encoded with their slashes", "[net]") {
  std::vector<std::string> const keys{"a", "b"}, values{"1", ""};
  std::string storage, more;
  auto const list = encode_wire_keys(keys, storage);
  CHECK(list.count == 2);
  CHECK(user_keys(list) == keys);
  CHECK(encode_wire_pairs(keys, values, more).count == 4);
}
