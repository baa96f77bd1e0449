// SPDX-License-Identifier: Apache-2.0
// That it equals real ranks is reducer_test.cpp's; here is what it says of itself.
#include "worker_runtime/ddp/simulated_world.hpp"

#include "tests/support/small_net.hpp"

#include <catch2/catch.hpp>

#include <limits>

namespace muster::worker {

TEST_CASE("a simulated world wants a micro-batch of every rank", "[ddp]") {
  test::SmallNet model;
  materialize(model.net, 1);
  auto const world = simulate_world(model.net.parameters(), 2);
  world->begin({.sync = true});
  auto const refused = world->finish();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "a window of 1 micro-batches in a world of 2");
  CHECK_FALSE(world->finished());
}

TEST_CASE("a simulated rank's loss that is not finite is named", "[ddp]") {
  test::SmallNet model;
  materialize(model.net, 1);
  auto const world = simulate_world(model.net.parameters(), 2);
  for (int rank = 0; rank < 2; ++rank) {
    world->begin({.sync = rank == 1, .step = 9});
    world->loss(rank == 1 ? std::numeric_limits<double>::infinity() : 1.0);
  }
  auto const refused = world->finish();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "step 9, rank 1: the loss is inf");
}

}  // namespace muster::worker
