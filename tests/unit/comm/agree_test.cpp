// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/agree.hpp"

#include "tests/support/ranks.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {

TEST_CASE("all succeed, or all get the lowest failing rank's error", "[comm]") {
  auto const outcome = [](int size, auto fails) {
    return test::on_ranks(size, [&](Session& session) {
      Result<void> mine;
      if (fails(session.rank()))
        mine = Error{Errc::limit, "disk full on " + std::to_string(session.rank()), "free some"};
      return agree(session.world(), mine);
    });
  };
  for (auto const& each : outcome(3, [](int) { return false; })) CHECK(each);
  for (auto const& each : outcome(3, [](int rank) { return rank > 0; })) {
    REQUIRE_FALSE(each);
    CHECK(each.error() == Error{Errc::limit, "rank 1: disk full on 1", "free some"});
  }
  CHECK(outcome(1, [](int) { return true; })[0].error().what == "disk full on 0");
}

TEST_CASE("texts and numbers of other ranks arrive whole", "[comm]") {
  auto const texts = test::on_ranks(3, [](Session& session) {
    auto const rank = session.rank();
    auto const mine = rank == 2 ? std::string(3000, 'x') : "other";
    return *broadcast_text(session.world(), mine, 2) + *broadcast_text(session.world(), "", 0);
  });
  for (auto const& text : texts) CHECK(text == std::string(3000, 'x'));
  auto const numbers = test::on_ranks(
      4, [](Session& session) { return *gather_numbers(session.world(), -7LL * session.rank()); });
  for (auto const& each : numbers) CHECK(each == std::vector<std::int64_t>{0, -7, -14, -21});
}

}  // namespace muster::worker
