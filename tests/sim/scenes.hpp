// SPDX-License-Identifier: Apache-2.0
#pragma once
// Histories made by hand: a calm job with real times, in which one thing happens.

#include "rendezvous/sim/world.hpp"

#include <catch2/catch.hpp>

namespace muster::sim {

inline std::string text_of(std::vector<std::string> const& lines) {
  std::string all;
  for (auto const& line : lines) all += line + "\n";
  return all;
}

// The script runs until `finish`.
inline Plan calm_plan(std::uint32_t nodes, std::uint32_t min_nodes, Duration finish) {
  Plan plan;
  plan.nodes = nodes;
  plan.job.min_nodes = min_nodes;
  plan.job.max_nodes = nodes;
  plan.job.max_restarts = 3;
  plan.job.join_timeout = std::chrono::seconds{60};
  plan.script.endless = true;
  plan.script.least_work = plan.script.most_work = std::chrono::seconds{1};
  plan.spread = std::chrono::milliseconds{500};
  plan.faults.push_back({finish, fault::FinishWorkers{}});
  return plan;
}

inline void at(Plan& plan, Duration moment, Fault what) {
  plan.faults.push_back({moment, std::move(what)});
}

// From a moment to the first later decision that gives workers a round; never: an hour.
inline Duration until_next_round(World const& world, Duration moment) {
  auto first = Duration{std::chrono::hours{1}};
  for (auto const& [mark, decision] : world.checker.decisions()) {
    auto const after = world.checker.decided_at(mark) - kBegin - moment;
    if (!decision.record.outcome && after >= Duration::zero()) first = std::min(first, after);
  }
  return first;
}

// Rounds of workers that were decided; a record that a successor repeats counts once.
inline std::size_t rounds_of(World const& world) {
  std::set<RoundNumber> rounds;
  for (auto const& [mark, decision] : world.checker.decisions())
    if (!decision.record.outcome) rounds.insert(mark.round);
  return rounds.size();
}

inline std::uint32_t nodes_of_last_round(World const& world) {
  std::uint32_t nodes = 0;
  for (auto const& [mark, decision] : world.checker.decisions())
    if (!decision.record.outcome) nodes = decision.record.nodes;
  return nodes;
}

inline bool ended_well(Process const* process) {
  return process && process->outcome && process->outcome->success;
}

inline int exit_code(Process const* process) {
  if (!process || !process->ended()) return -1;
  return process->outcome ? process->outcome->exit_code : exit_code_of(process->error->code);
}

// Plays until the moment, lets the faults strike there, and plays on.
template <class Moment>
void strike_when(World& world, Moment has_come, std::vector<Fault> const& faults) {
  while (!world.agenda.empty() && world.checker.violations.empty()) {
    world.happen(world.agenda.take());
    if (!has_come(world)) continue;
    for (auto const& fault : faults) world.strike(fault);
    break;
  }
  world.run(world.last_moment());
}

// Some seeds of the same scene: delays and clocks differ, what happens does not.
template <class Judge>
void play(Plan const& plan, std::uint64_t seeds, Judge judge) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    World world(seed, plan, Telling::what_matters);
    world.run(world.last_moment());
    INFO("seed " << seed << "\n" << text_of(world.story));
    REQUIRE(world.checker.violations.empty());
    judge(world);
  }
}

}  // namespace muster::sim
