// SPDX-License-Identifier: Apache-2.0
#pragma once
// The threads that help one rank compute. They belong to the calling thread, not to the process, so
// several ranks may live in one process. What a kernel returns never depends on their number: work
// is cut by shape alone.

#include <functional>

namespace muster::worker::cpu {

// How many threads, the caller included, this thread's kernels use from now on (Session::cpus()).
// 1 until called: OMP_NUM_THREADS, which launchers set to 1, is not asked. Ends or starts threads.
void set_compute_threads(int count);
int compute_threads();

// Calls task(0) ... task(count - 1), in any order, on this thread and its helpers; returns when all
// are done. Task i always runs on the same thread. Not from within a task.
void parallel_for(int count, std::function<void(int)> const& task);

}  // namespace muster::worker::cpu
