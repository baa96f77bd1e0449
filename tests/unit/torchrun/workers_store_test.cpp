// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/workers_store.hpp"

#include <catch2/catch.hpp>

using namespace muster::torchrun;

namespace {

NodeDesc const kTorch{"a", 10, 0}, kOther{"b", 11, 0}, kMuster{"c", 12, kMusterId};

Seat seat_of(NodeDesc const& self, std::vector<NodeDesc> members) {
  Seat seat{3, 0, std::move(members)};
  while (seat.members[seat.rank] != self) ++seat.rank;
  return seat;
}

WorkersStore held_by(std::optional<NodeDesc> owner) {
  return {"10.0.0.1", 4000, std::move(owner)};
}

}  // namespace

using Place = StorePlan::Place;

TEST_CASE("rank 0 opens the first store, the others are told where it is", "[torchrun]") {
  CHECK(plan_store(seat_of(kMuster, {kMuster, kTorch}), std::nullopt) ==
        StorePlan{Place::own, false, false});
  CHECK(plan_store(seat_of(kMuster, {kTorch, kMuster}), std::nullopt) ==
        StorePlan{Place::told, false, false});
}

TEST_CASE("whoever holds the store that torchrun's agents know goes on holding it", "[torchrun]") {
  CHECK(plan_store(seat_of(kMuster, {kMuster, kTorch}), held_by(kTorch)) ==
        StorePlan{Place::earlier, false, true});
  CHECK(plan_store(seat_of(kMuster, {kMuster, kTorch}), held_by(kMuster)) ==
        StorePlan{Place::earlier, true, false});
  CHECK(plan_store(seat_of(kMuster, {kTorch, kMuster}), held_by(kMuster)) ==
        StorePlan{Place::told, true, false});
}

TEST_CASE("a store whose holder is gone is replaced", "[torchrun]") {
  CHECK(plan_store(seat_of(kMuster, {kMuster, kTorch}), held_by(kOther)).place == Place::own);
  CHECK(plan_store(seat_of(kMuster, {kMuster, kTorch}), held_by(std::nullopt)).place == Place::own);
  CHECK_FALSE(plan_store(seat_of(kMuster, {kTorch, kMuster}), held_by(kOther)).clears_earlier);
}

TEST_CASE("a torchrun agent is known by the address of its store, muster's leave a note",
          "[torchrun]") {
  auto const seat = seat_of(kMuster, {{"a", 9, kMusterId}, {"a", 12, 0}, kTorch, kMuster});
  CHECK(owner_by_address(seat, "a") == kTorch);
  CHECK_FALSE(owner_by_address(seat, "c"));
  NodeDesc const odd{"a name with blanks", -3, kMusterId};
  CHECK(read_owner(write_owner(odd)) == odd);
  for (auto const* text : {"", "1", "1 2", "x 2 a", "1 y a"}) CHECK_FALSE(read_owner(text));
}

TEST_CASE("a port is a whole number that a port can be", "[torchrun]") {
  CHECK(read_port("29500") == 29500);
  for (auto const* text : {"", "0", "65536", "-1", "80 ", "None"}) CHECK_FALSE(read_port(text));
}
