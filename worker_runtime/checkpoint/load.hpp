// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loading a checkpoint. Collective: rank 0 reads, verifies and sends, so only its host needs the
// files. Either every tensor of the state is overwritten on all ranks, or all ranks return the same
// error; after an error the tensors' contents are unspecified.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/checkpoint/train_state.hpp"
#include "worker_runtime/comm/process_group.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace muster::worker {

struct Loaded {
  std::string path;
  bool found = false;                // false: nothing to load, the state is untouched
  int saved_world = 0;               // ranks that saved: the same number continues bit for bit
  std::vector<std::string> skipped;  // unreadable newer checkpoints, renamed to NAME.bad
};

// The newest complete checkpoint under `root` into `state`. One whose files contradict their
// checksums is set aside with a warning and the one before it is taken; if none is left that is an
// error. A checkpoint of another model is an error that names the first difference.
Result<Loaded> load_latest(ProcessGroup& group, TrainState& state, std::string const& root);

// One checkpoint, by its own folder.
Result<Loaded> load(ProcessGroup& group, TrainState& state, std::string const& path);

}  // namespace muster::worker
