// SPDX-License-Identifier: Apache-2.0
#pragma once
// Saving a checkpoint. Collective: every rank calls it, at the same step. Either all ranks return
// the path of a complete checkpoint on the disk, or all return the same error and the older
// checkpoints are as they were.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/checkpoint/train_state.hpp"
#include "worker_runtime/comm/process_group.hpp"

#include <cstddef>
#include <string>

namespace muster::worker {

struct SaveOptions {
  std::size_t keep = 2;  // complete checkpoints left in the folder; 0: all. Below 2 an unreadable
                         // newest one would be the only one
};

struct Saved {
  std::string path;
  std::uint64_t bytes = 0;
};

// Into root/step-NNNNNNNN. With replicated state (DDP) rank 0 writes, as one shard.
Result<Saved> save(ProcessGroup& group, TrainState const& state, std::string const& root,
                   SaveOptions options = {});

}  // namespace muster::worker
