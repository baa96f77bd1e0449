// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace muster::worker {

double lr_at(Schedule const& schedule, std::uint64_t step) {
  if (step < schedule.warmup_steps)
    return schedule.base * static_cast<double>(step + 1) /
           static_cast<double>(schedule.warmup_steps);
  auto const span = schedule.total_steps > schedule.warmup_steps
                        ? static_cast<double>(schedule.total_steps - schedule.warmup_steps)
                        : 1.0;
  auto const done = std::min(1.0, static_cast<double>(step - schedule.warmup_steps) / span);
  auto const low = schedule.base * schedule.final_fraction;
  switch (schedule.shape) {
    case Schedule::Shape::constant:
      return schedule.base;
    case Schedule::Shape::linear:
      return schedule.base + (low - schedule.base) * done;
    case Schedule::Shape::cosine:
      return low + (schedule.base - low) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  }
  return schedule.base;
}

double lr_for_batch(double base, std::uint64_t global_batch, std::uint64_t reference_batch) {
  return base * static_cast<double>(global_batch) / static_cast<double>(reference_batch);
}

}  // namespace muster::worker
