// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process group `cpu`: one rank of a world connected by TCP. A progress thread of its own
// carries out operations in submission order, so that they overlap with the caller's computation.
// After an error the group is dead on all ranks and every operation returns that error.

#include "worker_runtime/comm/mesh.hpp"
#include "worker_runtime/comm/process_group.hpp"

namespace muster::worker {

// mesh: whole. `timeout` is the deadline of operations without their own. Destroying the group ends
// what is still queued with `canceled` and says goodbye to the peers.
Result<std::shared_ptr<ProcessGroup>> make_tcp_group(Mesh mesh, Duration timeout);

}  // namespace muster::worker
