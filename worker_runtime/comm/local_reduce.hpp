// SPDX-License-Identifier: Apache-2.0
#pragma once
// A collective over ranks whose memory is all here: what the threads backend does once everybody
// has submitted. Pure computation; one thread.

#include "worker_runtime/collectives/kernels.hpp"
#include "worker_runtime/comm/process_group.hpp"

namespace muster::worker {

// by_rank[r] is rank r's; all passed their checks and agree in signature.
void run_locally(std::span<Collective const* const> by_rank, TreeReducer& reducer);

}  // namespace muster::worker
