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
  JobSettings const settings;
  CHECK(judge_member(kNow - 4999ms, kNow, settings).alive);
  auto const verdict = judge_member(kNow - 5s, kNow, settings);
  CHECK_FALSE(verdict.alive);
  CHECK(verdict.why == "silent for 5.0 s, limit 5.0 s");
}

TEST_CASE("a member fences itself before its host may take it for lost", "[membership]") {
  JobSettings const settings;
  CHECK(settings.fence < settings.dead);
  CHECK(judge_host(kNow - 3999ms, kNow, settings) == HostTrust::good);
  CHECK(judge_host(kNow - 4s, kNow, settings) == HostTrust::fence);
  CHECK(judge_host(kNow - 5s, kNow, settings) == HostTrust::lost);
}

TEST_CASE("without leases nobody is lost", "[membership]") {
  JobSettings settings;
  settings.leases = false;
  CHECK(judge_member(kNow - 1h, kNow, settings).alive);
  CHECK(judge_host(kNow - 1h, kNow, settings) == HostTrust::good);
}

TEST_CASE("only a wake-up later than a busy machine explains is a gap", "[membership]") {
  CHECK(missed_time(kNow, kNow - 1s) == Duration::zero());
  CHECK(missed_time(kNow, kNow + 300ms) == Duration::zero());
  CHECK(missed_time(kNow, kNow + 2s) == 2s);
  CHECK(missed_time(TimePoint::max(), kNow) == Duration::zero());
}
