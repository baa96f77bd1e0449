// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/lease.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

namespace {
constexpr TimePoint kNow{100s};
}

TEST_CASE("a member is lost once it was silent for the whole limit", "[membership]") {
  CHECK(judge_member(kNow - 4999ms, kNow, 5s).alive);
  auto const verdict = judge_member(kNow - 5s, kNow, 5s);
  CHECK_FALSE(verdict.alive);
  CHECK(verdict.why == "silent for 5.0 s, limit 5.0 s");
}

TEST_CASE("a member fences itself before its host may take it for lost", "[membership]") {
  CHECK(fence_of(5s) == 4s);
  CHECK(fence_of(60s) == 55s);
  CHECK(fence_of(2s) == 1600ms);
  CHECK(judge_host(kNow - 3999ms, kNow, 5s) == HostTrust::good);
  CHECK(judge_host(kNow - 4s, kNow, 5s) == HostTrust::fence);
  CHECK(judge_host(kNow - 5s, kNow, 5s) == HostTrust::lost);
}

TEST_CASE("only a wake-up later than a busy machine explains is a gap", "[membership]") {
  CHECK(missed_time(kNow, kNow - 1s) == Duration::zero());
  CHECK(missed_time(kNow, kNow + 300ms) == Duration::zero());
  CHECK(missed_time(kNow, kNow + 2s) == 2s);
  CHECK(missed_time(TimePoint::max(), kNow) == Duration::zero());
}
