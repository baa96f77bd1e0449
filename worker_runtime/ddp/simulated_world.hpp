// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reference that N ranks answer to: one process computes the N micro-batches one after another,
// keeps their gradients apart, and adds them in the order of every collective. Same bits, no
// communication. Each begin() is the next rank's; the last one has sync set.

#include "worker_runtime/core/parallel.hpp"

#include <memory>
#include <vector>

namespace muster::worker {

// Rank 0 to size - 1 in each window; otherwise as Parallel::none(). Give it module.parameters().
std::unique_ptr<Parallel> simulate_world(std::vector<Param*> params, int size);

}  // namespace muster::worker
