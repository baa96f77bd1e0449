// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/lobby.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::net;
using namespace std::chrono_literals;

namespace {

TimePoint at(Duration time) {
  return TimePoint{time};
}

LobbyRules const kRules{4, 2, 10s};

}  // namespace

TEST_CASE("from one address the one that waits longest makes room", "[net]") {
  Lobby lobby(kRules);
  CHECK_FALSE(lobby.enter(1, "a", at(0s)));
  CHECK_FALSE(lobby.enter(2, "b", at(0s)));
  CHECK_FALSE(lobby.enter(3, "a", at(0s)));
  CHECK(lobby.enter(4, "a", at(0s)) == 1);
  lobby.leave(1);
  CHECK(lobby.size() == 3);
  CHECK(lobby.holds(3));
}

TEST_CASE("when it is full the one that waits longest of all makes room", "[net]") {
  Lobby lobby(kRules);
  for (Lobby::Key key = 1; key <= 4; ++key)
    CHECK_FALSE(lobby.enter(key, std::to_string(key), at(0s)));
  CHECK(lobby.enter(5, "5", at(0s)) == 1);
}

TEST_CASE("who shares an address with everybody is bounded by the total alone", "[net]") {
  Lobby lobby(kRules);
  for (Lobby::Key key = 1; key <= 4; ++key) CHECK_FALSE(lobby.enter(key, "", at(0s)));
  CHECK(lobby.enter(5, "", at(0s)) == 1);
}

TEST_CASE("who said what it wants leaves its place to others", "[net]") {
  Lobby lobby(kRules);
  for (Lobby::Key key = 1; key <= 100; ++key) {
    CHECK_FALSE(lobby.enter(key, "a", at(0s)));
    lobby.leave(key);
    lobby.leave(key);
  }
  CHECK(lobby.size() == 0);
  CHECK_FALSE(lobby.next_due());
}

TEST_CASE("patience ends for each by its own arrival", "[net]") {
  Lobby lobby(kRules);
  lobby.enter(1, "a", at(0s));
  lobby.enter(2, "b", at(3s));
  CHECK(lobby.next_due() == at(10s));
  CHECK(lobby.overdue(at(9s)).empty());
  CHECK(lobby.overdue(at(10s)) == std::vector<Lobby::Key>{1});
  CHECK(lobby.overdue(at(13s)) == std::vector<Lobby::Key>{1, 2});
  lobby.leave(1);
  CHECK(lobby.next_due() == at(13s));
}
