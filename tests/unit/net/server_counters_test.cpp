// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/server_counters.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("a wake-up is counted in the first bucket that holds it", "[net]") {
  net::WakeHistogram wake;
  wake.record(5us, 1);
  wake.record(6us, 2);
  wake.record(10s, 1);
  CHECK(wake.buckets().front() == 1);
  CHECK(wake.buckets()[1] == 2);
  CHECK(wake.buckets().back() == 1);
  CHECK(wake.count() == 4);
  CHECK(wake.sum() == 10s + 17us);
}
