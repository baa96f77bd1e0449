// SPDX-License-Identifier: Apache-2.0
#pragma once
// What muster simulate says: the story of one history and what came of it, or the sum of many.

#include "rendezvous/sim/world.hpp"

namespace muster::sim {

struct Report {
  std::string text;
  int exit_code = 0;  // 1: an invariant broke
};

Report report_one(std::uint64_t seed, Plan const& plan, Telling telling,
                  Twist const* twist = nullptr);

// Seeds from `first` on. The first one that breaks an invariant tells its story; of the others
// there is a line.
Report report_many(std::uint64_t first, std::uint64_t count,
                   std::function<Plan(std::uint64_t)> const& plan_for,
                   Twist const* twist = nullptr);

}  // namespace muster::sim
