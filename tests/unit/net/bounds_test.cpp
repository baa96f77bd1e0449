// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/bounds.hpp"

#include <catch2/catch.hpp>

using namespace muster::net;

TEST_CASE("strangers never get the last files of a process, nor endless memory", "[net]") {
  for (std::size_t files : {64u, 1'024u, 20'000u, 1'048'576u}) {
    auto const bounds = bounds_of(files);
    INFO(files);
    CHECK(bounds.lobby.in_all <= files / 2);
    CHECK(bounds.lobby.in_all <= 16'384);
    CHECK(bounds.lobby.from_one_address <= bounds.lobby.in_all / 2);
    CHECK(bounds.clients <= files * 3 / 4);
  }
}

TEST_CASE("a limit that is none and one that is tiny give usable bounds", "[net]") {
  CHECK(bounds_of(~std::size_t{0}).lobby.in_all == 16'384);
  CHECK(bounds_of(0).lobby.in_all == 16);
  CHECK(bounds_of_this_process().lobby.in_all >= 16);
}
