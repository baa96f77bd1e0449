// SPDX-License-Identifier: Apache-2.0
#pragma once
// Do all ranks draw from one order? Collective; once an epoch is enough.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/comm/process_group.hpp"
#include "worker_runtime/data/sampler.hpp"

namespace muster::worker {

// If a rank stands elsewhere than rank 0, some samples would be seen twice and others never: all
// ranks get an error that names the rank and both places.
Result<void> check_same_order(ProcessGroup& group, SamplerState const& mine);

}  // namespace muster::worker
