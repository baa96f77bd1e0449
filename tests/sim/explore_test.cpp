// SPDX-License-Identifier: Apache-2.0
// Small worlds, whole: every order of delivery, and one fault at every moment.

#include "rendezvous/sim/explore.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

std::uint64_t number_from(char const* name, std::uint64_t otherwise) {
  auto const* wanted = std::getenv(name);
  return wanted ? std::strtoull(wanted, nullptr, 10) : otherwise;
}

#ifdef MUSTER_SANITIZED
constexpr std::uint32_t kMostDetours = 0;
#else
constexpr std::uint32_t kMostDetours = kEveryOrder;
#endif

// For a longer run: MUSTER_SIM_DETOURS, where 99 is as good as every order, and MUSTER_SIM_STATES.
Bounds bounds_with(std::uint32_t detours) {
  Bounds bounds;
  bounds.detours = static_cast<std::uint32_t>(
      number_from("MUSTER_SIM_DETOURS", std::min(detours, kMostDetours)));
  if (bounds.detours >= 99) bounds.detours = kEveryOrder;
  bounds.states = number_from("MUSTER_SIM_STATES", 1'000'000);
  return bounds;
}

std::string orders_of(Bounds const& bounds, Exploration const& found) {
  std::string const what = found.complete ? "" : "NOT ALL of ";
  if (!found.cut) return what + "every order";
  return what + "every order with at most " + std::to_string(bounds.detours) + " detours";
}

Exploration explore_and_report(std::string const& what, Plan const& plan, Bounds const& bounds) {
  auto const found = explore(plan, bounds);
  std::printf(
      "  %-44s %9llu states, %9llu steps, %7llu ends, %4zu deep: %s\n", what.c_str(),
      static_cast<unsigned long long>(found.states), static_cast<unsigned long long>(found.steps),
      static_cast<unsigned long long>(found.ends), found.deepest, orders_of(bounds, found).c_str());
  std::fflush(stdout);
  std::string story;
  for (auto const& line : found.story) story += line + "\n";
  INFO(what << "\n" << story);
  CHECK(found.violations.empty());
  CHECK(found.ends > 0);
  return found;
}

// Any node, at any moment.
std::vector<Fault> losses(std::uint32_t nodes) {
  std::vector<Fault> faults;
  for (NodeIndex node = 0; node < nodes; ++node) faults.push_back(fault::PowerLoss{node});
  return faults;
}

// Each node alone on its side; of two nodes that is one way only.
std::vector<Fault> partitions(std::uint32_t nodes) {
  std::vector<Fault> faults;
  for (NodeIndex node = 0; node < (nodes == 2 ? 1 : nodes); ++node)
    faults.push_back(fault::Partition{{{node}}});
  return faults;
}

}  // namespace

TEST_CASE("two agents, every order of delivery", "[sim]") {
  auto const found =
      explore_and_report("2 agents, nothing lost", exact_plan(2, 2), bounds_with(kEveryOrder));
  CHECK(found.complete);
  CHECK(found.cut == (kMostDetours != kEveryOrder));
}

TEST_CASE("two agents, one of them lost at any moment", "[sim]") {
  auto bounds = bounds_with(kEveryOrder);
  bounds.faults = losses(2);
  auto const found = explore_and_report("2 agents, a node lost", exact_plan(2, 1), bounds);
  CHECK(found.complete);
  CHECK(found.cut == (kMostDetours != kEveryOrder));
}

TEST_CASE("two agents, parted at any moment", "[sim]") {
  auto shortly = bounds_with(3);
  shortly.faults = partitions(2);
  shortly.heal_after = 1'500ms;
  explore_and_report("2 agents, parted for 1.5 s", exact_plan(2, 1), shortly);
  auto for_long = bounds_with(1);
  for_long.faults = partitions(2);
  for_long.heal_after = 5s;
  explore_and_report("2 agents, parted for 5 s", exact_plan(2, 1), for_long);
}

TEST_CASE("three agents, in many orders of delivery", "[sim]") {
  explore_and_report("3 agents, nothing lost", exact_plan(3, 3), bounds_with(5));
}

TEST_CASE("three agents, one of them lost or parted from the others at any moment", "[sim]") {
  auto bounds = bounds_with(1);
  bounds.faults = losses(3);
  explore_and_report("3 agents, a node lost", exact_plan(3, 2), bounds);
  bounds.faults = partitions(3);
  bounds.heal_after = 1'500ms;
  explore_and_report("3 agents, one parted for 1.5 s", exact_plan(3, 2), bounds);
}
