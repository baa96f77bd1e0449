// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/sim/report.hpp"

#include "rendezvous/sim/story.hpp"

namespace muster::sim {
namespace {

struct Sum {
  std::uint64_t events = 0, decisions = 0, successes = 0, broken = 0, excused = 0, twins = 0;
  Duration time{};
};

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

World played(std::uint64_t seed, Plan const& plan, Telling telling, Twist const* twist) {
  World world(seed, plan, telling, twist);
  world.run(world.last_moment());
  return world;
}

std::string story_of(World const& world) {
  std::string text;
  for (auto const& line : world.story) text += line + "\n";
  return text;
}

std::string end_of(World const& world) {
  auto const& checker = world.checker;
  std::uint64_t starts = 0;
  for (auto const& [mark, decision] : checker.decisions())
    if (!decision.record.outcome) ++starts;
  auto const& outcome = checker.outcome();
  std::string end = "no outcome was committed";
  if (outcome) end = outcome->success ? "success" : "failure: " + outcome->why;
  auto text = "\n" + number(checker.decisions().size()) + " decisions, " + number(starts) +
              " of them rounds of workers; " + end + "; " + number(world.events) + " events in " +
              duration_text(world.elapsed()) + "\n";
  if (checker.excused > 0)
    text += number(checker.excused) + " times workers ran on because their machine stood still\n";
  if (checker.twins > 0)
    text += number(checker.twins) +
            " times workers ran on in a world beside which another one was born\n";
  for (auto const& violation : checker.violations)
    text += "VIOLATION of " + to_text(violation) + "\n";
  return text;
}

void add(Sum& sum, World const& world) {
  sum.events += world.events;
  sum.decisions += world.checker.decisions().size();
  sum.time += world.elapsed();
  sum.excused += world.checker.excused;
  sum.twins += world.checker.twins;
  auto const& outcome = world.checker.outcome();
  if (outcome && outcome->success) ++sum.successes;
  if (!world.checker.violations.empty()) ++sum.broken;
}

std::string text_of(Sum const& sum, std::uint64_t count) {
  auto const hours = std::chrono::duration_cast<std::chrono::hours>(sum.time).count();
  return number(count) + " histories, " + std::to_string(hours) + " hours, " + number(sum.events) +
         " events, " + number(sum.decisions) + " decisions, " + number(sum.successes) +
         " successes, " + number(sum.excused) + " + " + number(sum.twins) + " excuses; " +
         number(sum.broken) + " broke an invariant\n";
}

}  // namespace

Report report_one(std::uint64_t seed, Plan const& plan, Telling telling, Twist const* twist) {
  auto const world = played(seed, plan, telling, twist);
  return {story_of(world) + end_of(world), world.checker.violations.empty() ? 0 : 1};
}

Report report_many(std::uint64_t first, std::uint64_t count,
                   std::function<Plan(std::uint64_t)> const& plan_for, Twist const* twist) {
  Sum sum;
  Report report;
  for (auto seed = first; seed < first + count; ++seed) {
    auto const plan = plan_for(seed);
    auto const world = played(seed, plan, Telling::nothing, twist);
    add(sum, world);
    if (world.checker.violations.empty()) continue;
    if (sum.broken == 1) report.text += report_one(seed, plan, Telling::what_matters, twist).text;
    report.text += "seed " + number(seed) + ": " + to_text(world.checker.violations.front()) + "\n";
  }
  report.text += text_of(sum, count);
  report.exit_code = sum.broken == 0 ? 0 : 1;
  return report;
}

}  // namespace muster::sim
