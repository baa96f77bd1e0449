// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/same_order.hpp"

#include "tests/support/ranks.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {

TEST_CASE("ranks that draw from one order pass; one in another epoch is named to all", "[data]") {
  auto const check = [](std::int64_t odd_epoch) {
    return test::on_ranks(3, [&](Session& session) {
      SamplerState const state{100, 7, session.rank() == 2 ? odd_epoch : 4, 30};
      return check_same_order(session.world(), state);
    });
  };
  for (auto const& outcome : check(4)) CHECK(outcome);
  for (auto const& outcome : check(5)) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == Errc::mismatch);
    CHECK(outcome.error().what ==
          "rank 2 draws samples from epoch 5, sample 30 of 100, seed 7; rank 0 from epoch 4, "
          "sample 30 of 100, seed 7");
  }
}

}  // namespace muster::worker
