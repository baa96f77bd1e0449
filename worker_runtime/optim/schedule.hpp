// SPDX-License-Identifier: Apache-2.0
#pragma once
// Learning rates as pure functions of the step: nothing to save but the step, nothing to replay.

#include <cstdint>

namespace muster::worker {

struct Schedule {
  enum class Shape : std::uint8_t { constant, linear, cosine } shape = Shape::constant;
  double base = 1e-3;              // reached at the end of the warm-up
  std::uint64_t warmup_steps = 0;  // lr rises in equal parts: base * (step + 1) / warmup_steps
  std::uint64_t total_steps = 0;   // where linear and cosine reach their end
  double final_fraction = 0;       // of base, at total_steps and after
};

// The rate of step 0, 1, ...
double lr_at(Schedule const& schedule, std::uint64_t step);

// The linear scaling rule: base * global_batch / reference_batch.
double lr_for_batch(double base, std::uint64_t global_batch, std::uint64_t reference_batch);

}  // namespace muster::worker
