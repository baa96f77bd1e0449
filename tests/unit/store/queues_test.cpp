// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/store/queues.hpp"

#include <catch2/catch.hpp>

using namespace muster::store;

TEST_CASE("an emptied queue does not exist", "[store]") {
  Counters counters;
  Queues queues(counters);
  queues.push("q", "12");
  queues.push("q", "");
  CHECK(queues.length("q") == 2);
  CHECK(counters.queued_bytes == 2);
  CHECK(queues.pop("q") == "12");
  CHECK(queues.pop("q") == "");
  CHECK(queues.pop("q") == std::nullopt);
  CHECK(queues.count() == 0);
  CHECK(counters.queued_values == 0);
}
