// SPDX-License-Identifier: Apache-2.0
// Small worlds, whole: every order of delivery, and one fault at every moment.

#include "rendezvous/sim/explore.hpp"

#include "tests/sim/deliberate_faults.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

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

// For another run: MUSTER_SIM_DETOURS and MUSTER_SIM_STATES.
Bounds bounds_with(std::vector<Fault> faults, Duration heal_after = {}) {
  Bounds bounds;
  bounds.faults = std::move(faults);
  bounds.heal_after = heal_after;
  bounds.detours = static_cast<std::uint32_t>(number_from("MUSTER_SIM_DETOURS", kMostDetours));
  bounds.states = number_from("MUSTER_SIM_STATES", 2'000'000);
  return bounds;
}

std::string orders_of(Bounds const& bounds, Exploration const& found) {
  std::string const what = found.complete ? "" : "NOT ALL of ";
  if (!found.cut) return what + "every order";
  return what + "every order with at most " + std::to_string(bounds.detours) + " detours";
}

void explore_and_report(std::string const& what, Plan const& plan, Bounds const& bounds) {
  auto const found = explore(plan, bounds);
  std::printf("  %-44s %9llu states, %9llu steps, %7llu ends, %4zu deep: %s\n", what.c_str(),
              static_cast<unsigned long long>(found.states),
              static_cast<unsigned long long>(found.steps),
              static_cast<unsigned long long>(found.ends.size()), found.deepest,
              orders_of(bounds, found).c_str());
  std::fflush(stdout);
  std::string story;
  for (auto const& line : found.story) story += line + "\n";
  INFO(what << "\n" << story);
  CHECK(found.violations.empty());
  CHECK(found.complete);
  CHECK((found.cut || bounds.detours > 0));
  CHECK(!found.ends.empty());
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

// What machines do takes time, and they start one after the other: letters of one step of the
// protocol meet each other in every order, and those of a later step come later. No two of these
// times add up to the same moment as others without need.
Plan spaced_plan(std::uint32_t nodes, std::uint32_t min_nodes) {
  auto plan = exact_plan(nodes, min_nodes);
  plan.local_work = 100ms;
  plan.start_step = 10ms;
  plan.script.least_work = plan.script.most_work = 1'050ms;
  return plan;
}

// Member and host go on talking for ever, and no time passes.
struct SaysMoreEachTime : Twist {
  void after_member(membership::MemberState const&, membership::MemberState& member,
                    std::vector<membership::member::Effect>& effects) const override {
    if (member.with_host) effects.push_back(membership::member::Say{membership::Lease{}});
  }
};

}  // namespace

TEST_CASE("two agents, every order of delivery", "[sim]") {
  explore_and_report("2 agents, nothing lost", exact_plan(2, 2), bounds_with({}));
}

TEST_CASE("two agents, one of them lost at any moment", "[sim]") {
  explore_and_report("2 agents, a node lost", exact_plan(2, 1), bounds_with(losses(2)));
}

TEST_CASE("two agents, parted at any moment", "[sim]") {
  auto const plan = exact_plan(2, 1);
  explore_and_report("2 agents, parted for 1.3 s", plan, bounds_with(partitions(2), 1'300ms));
  explore_and_report("2 agents, parted for 4.7 s", spaced_plan(2, 1),
                     bounds_with(partitions(2), 4'700ms));
}

TEST_CASE("three agents, every order of delivery", "[sim]") {
  auto plan = spaced_plan(3, 3);
  plan.start_step = 0ms;
  explore_and_report("3 agents, nothing lost", plan, bounds_with({}));
}

TEST_CASE("three agents, one of them lost at any moment", "[sim]") {
  explore_and_report("3 agents, a node lost", spaced_plan(3, 2), bounds_with(losses(3)));
}

TEST_CASE("three agents, one of them parted from the others at any moment", "[sim]") {
  explore_and_report("3 agents, one parted for 1.3 s", spaced_plan(3, 2),
                     bounds_with(partitions(3), 1'300ms));
}

// Where an order is left out as one that comes to the same, the histories end as they do with it.
TEST_CASE("orders that come to the same end the same", "[sim]") {
  auto const end_the_same = [](Plan const& plan, Bounds bounds) {
    bounds.detours = kEveryOrder;
    auto const few = explore(plan, bounds);
    bounds.reduce = false;
    auto const all = explore(plan, bounds);
    CHECK(few.complete);
    CHECK(all.complete);
    CHECK(few.states < all.states);
    CHECK(few.ends == all.ends);
  };
  auto const plan = kMostDetours == kEveryOrder ? exact_plan(2, 1) : spaced_plan(2, 1);
  end_the_same(plan, bounds_with(losses(2)));
  end_the_same(plan, bounds_with(partitions(2), 1'300ms));
  end_the_same(plan, bounds_with({fault::OneWay{{0}, {1}}, fault::OneWay{{1}, {0}}}, 1'300ms));
  if (kMostDetours == kEveryOrder)
    end_the_same(spaced_plan(3, 2), bounds_with({fault::Partition{{{2}}}}, 1'300ms));
}

TEST_CASE("a history that comes back to where it was is found", "[sim]") {
  SaysMoreEachTime const talk;
  auto const found = explore(exact_plan(2, 2), bounds_with({}), &talk);
  REQUIRE(found.violations.size() == 1);
  CHECK(found.violations.front().invariant == 12);
  INFO(to_text(found.violations.front()));
  CHECK(found.violations.front().what.find("as it was before") != std::string::npos);
}

// Those that show where two nodes are and one is lost; twist_test.cpp tries all.
TEST_CASE("small worlds find deliberate faults, too", "[sim]") {
  std::set<std::string> const expected{"workers start on PREPARE",
                                       "a time-out counts as a death",
                                       "a member is evicted before `dead`",
                                       "a round's number is used again",
                                       "a round is committed before the old workers are dead",
                                       "the rounds share a store",
                                       "an agent exits 0 without the job's outcome"};
  auto bounds = bounds_with(losses(2));
  bounds.detours = kEveryOrder;
  std::set<std::string> caught;
  for (auto const& fault : deliberate_faults()) {
    if (!expected.contains(fault.name)) continue;
    auto const found = explore(exact_plan(2, 1), bounds, fault.twist.get());
    if (found.violations.empty() || found.story.empty()) continue;
    INFO(fault.name << ": " << to_text(found.violations.front()));
    CHECK(fault.caught_by.contains(found.violations.front().invariant));
    caught.insert(fault.name);
  }
  CHECK(caught == expected);
}
