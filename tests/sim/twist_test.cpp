// SPDX-License-Identifier: Apache-2.0
// The checker is tried: each deliberate fault must be caught within so many seeds, and by an
// invariant that speaks of it.

#include "rendezvous/sim/world.hpp"
#include "tests/sim/deliberate_faults.hpp"

#include <catch2/catch.hpp>

#include <cstdio>

using namespace muster;
using namespace muster::sim;

namespace {

constexpr std::uint64_t kSeeds = 2'000;

struct Caught {
  std::uint64_t seed = 0;  // 0: never caught
  Violation violation;
};

// One fault may break a history in several ways; the first that speaks of it is what counts.
Caught first_catch(DeliberateFault const& fault) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed, random_plan(seed), Telling::nothing, fault.twist.get());
    world.run(world.last_moment());
    for (auto const& violation : world.checker.violations)
      if (fault.caught_by.contains(violation.invariant)) return {seed, violation};
  }
  return {};
}

}  // namespace

TEST_CASE("every deliberate fault is caught", "[sim]") {
  for (auto const& fault : deliberate_faults()) {
    auto const caught = first_catch(fault);
    INFO(fault.name << ": seed " << caught.seed << ", " << to_text(caught.violation));
    std::printf("  %-55s seed %4llu  %s\n", fault.name.c_str(),
                static_cast<unsigned long long>(caught.seed), to_text(caught.violation).c_str());
    CHECK(caught.seed != 0);
  }
}
