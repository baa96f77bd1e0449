// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/control/frame_seal.hpp"

#include "tests/unit/control/toy_mac.hpp"

#include <catch2/catch.hpp>

using namespace muster::control;

TEST_CASE("a frame's tag holds for its place, its body, its direction and its connection",
          "[control]") {
  FrameSeal sender(toy_mac, "key"), receiver(toy_mac, "key");
  auto const first = sender.tag("first");
  sender.count();
  auto const second = sender.tag("second");
  sender.count();
  REQUIRE(first.size() == kTagBytes);
  SECTION("in order, each once") {
    CHECK(receiver.check("first", first));
    CHECK_FALSE(receiver.check("first", first));  // doubled
    CHECK(receiver.check("second", second));
  }
  SECTION("left out or moved") {
    CHECK_FALSE(receiver.check("second", second));
  }
  SECTION("changed") {
    CHECK_FALSE(receiver.check("First", first));
  }
  SECTION("a tag cut short or missing") {
    CHECK_FALSE(receiver.check("first", first.substr(1)));
    CHECK_FALSE(receiver.check("first", ""));
  }
  SECTION("another key: the other direction, another connection") {
    CHECK_FALSE(FrameSeal(toy_mac, "other").check("first", first));
  }
}

TEST_CASE("a tag that is only written down takes no place", "[control]") {
  FrameSeal const sender(toy_mac, "key");
  FrameSeal receiver(toy_mac, "key");
  auto const one = sender.tag("one"), other = sender.tag("other");
  CHECK(one != other);
  CHECK(receiver.check("other", other));
}
