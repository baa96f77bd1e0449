// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gradient clipping by the global 2-norm, as torch.nn.utils.clip_grad_norm_ does it.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/parallel.hpp"

namespace muster::worker {

// Scales all gradients by min(1, max_norm / (norm + 1e-6)) and returns the norm before. Where every
// rank holds all gradients (one process, DDP) all get the same bits without talking. Refused before
// finish(), and where the norm is not finite.
Result<double> clip_grad_norm(Parallel& parallel, double max_norm);

}  // namespace muster::worker
