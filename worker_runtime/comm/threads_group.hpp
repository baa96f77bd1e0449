// SPDX-License-Identifier: Apache-2.0
#pragma once
// N ranks in one process. Operations run on one progress thread shared by the ranks, in submission
// order, over the ranks' own memory and in tree order. A rank's group may be used from any one
// thread; the shared part lives until the last of them is gone.

#include "worker_runtime/comm/process_group.hpp"

namespace muster::worker {

// One group a rank, by rank. `timeout` is the deadline of operations without their own. A world of
// one runs its operations inside submit() and needs no thread.
std::vector<std::shared_ptr<ProcessGroup>> make_threads_groups(int size, Duration timeout,
                                                               std::string const& backend);

}  // namespace muster::worker
