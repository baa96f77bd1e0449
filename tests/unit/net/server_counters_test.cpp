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

TEST_CASE("what was closed is summed up by reason", "[net]") {
  net::ServerCounters counters;
  CHECK(net::refusals_text(counters).empty());
  counters.violations = 1;
  counters.strangers = 12;
  CHECK(net::refusals_text(counters) == "violation 1, stranger 12");
}
