// SPDX-License-Identifier: Apache-2.0
// Thousands of histories of small worlds. A failing seed prints its story; put it into kRegress.

#include "tests/sim/world.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kRegress[] = {0};
constexpr Duration kLimit = 150s;

std::string text(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) all += line + "\n";
  return all;
}

World play(std::uint64_t seed) {
  Random random(seed ^ 0x5eed);
  World world(seed, random_plan(random));
  world.run(kLimit);
  return world;
}

std::uint64_t seeds() {
  auto const* wanted = std::getenv("MUSTER_SIM_SEEDS");
  return wanted ? std::strtoull(wanted, nullptr, 10) : 2'000;
}

Plan calm(std::uint32_t nodes) {
  Plan plan;
  plan.nodes = plan.min_nodes = plan.max_nodes = nodes;
  plan.failure = 0;
  plan.most_delay = 2ms;
  plan.spread = 1s;
  return plan;
}

// From `moment` to the end of the last one alive.
Duration longest_end(World const& world, TimePoint moment) {
  auto longest = Duration::zero();
  for (auto const& node : world.nodes)
    if (node.alive && node.ended()) longest = std::max(longest, node.ended_at - moment);
  return longest;
}

}  // namespace

TEST_CASE("no history breaks an invariant", "[sim]") {
  std::uint64_t events = 0, successes = 0, restarts = 0;
  auto const check = [&](std::uint64_t seed) {
    auto const world = play(seed);
    events += world.events;
    if (world.nodes[0].outcome && world.nodes[0].outcome->success) ++successes;
    restarts += world.host.used.worker_failures;
    if (world.violations.empty()) return;
    INFO("seed " << seed << "\n" << text(world.story));
    FAIL(text(world.violations));
  };
  for (auto const seed : kRegress) check(seed);
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) check(seed);
  if (std::getenv("MUSTER_SIM_SEEDS"))
    std::printf("%llu seeds, %llu events, %llu successes, %llu restarts\n",
                static_cast<unsigned long long>(seeds()), static_cast<unsigned long long>(events),
                static_cast<unsigned long long>(successes),
                static_cast<unsigned long long>(restarts));
  CHECK(successes > seeds() / 10);
  CHECK(restarts > seeds() / 10);
}

TEST_CASE("a seed replays exactly", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) CHECK(play(seed).story == play(seed).story);
}

TEST_CASE("without faults every world succeeds", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    World world(seed, calm(2 + static_cast<std::uint32_t>(seed % 4)));
    world.run(kLimit);
    INFO("seed " << seed << "\n" << text(world.story));
    CHECK(world.violations.empty());
    for (auto const& node : world.nodes) {
      REQUIRE(node.outcome);
      CHECK(node.outcome->success);
    }
  }
}

TEST_CASE("a crashed node ends the job on all others within seven seconds", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto plan = calm(4);
    plan.crash = static_cast<std::uint32_t>(seed % 4);  // 0 hosts
    plan.crash_at = 1500ms + std::chrono::milliseconds{seed * 5};
    World world(seed, plan);
    auto const crash = world.now + plan.crash_at;
    world.run(kLimit);
    INFO("seed " << seed << "\n" << text(world.story));
    CHECK(world.violations.empty());
    CHECK(longest_end(world, crash) <= 7s);
  }
}

TEST_CASE("a pause of two seconds, of a member or of the host, evicts nobody", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto plan = calm(3);
    plan.pause = static_cast<std::uint32_t>(seed % 3);
    plan.pause_at = 1s + std::chrono::milliseconds{seed * 30};
    plan.pause_for = 2s;
    World world(seed, plan);
    world.run(kLimit);
    INFO("seed " << seed << "\n" << text(world.story));
    CHECK(world.violations.empty());
    for (auto const& node : world.nodes) CHECK((node.outcome && node.outcome->success));
  }
}
