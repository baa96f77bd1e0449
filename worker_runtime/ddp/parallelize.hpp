// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data parallel training of a model: allocates its parameters in storage of the library's own,
// starts from rank 0's values, and averages gradients over the ranks while backward still runs.
// Collective; the training loop's thread.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/comm/process_group.hpp"
#include "worker_runtime/core/parallel.hpp"
#include "worker_runtime/ddp/bucket_plan.hpp"

#include <cstdint>
#include <memory>

namespace muster::worker {

// The ranks that a model is laid over. One dimension: all replicate it.
class Mesh {
 public:
  Mesh(ProcessGroup& replicas) : replicas_(replicas) {}
  ProcessGroup& replicas() const { return replicas_; }

 private:
  ProcessGroup& replicas_;  // outlives what is made over the mesh
};

struct ParallelOptions {
  std::uint64_t seed = 0;  // of the initial values, where the model has none yet
  BucketLimits buckets{};
};

// `root` and the mesh's group outlive the result.
Result<std::unique_ptr<Parallel>> parallelize(Module& root, Mesh mesh,
                                              ParallelOptions const& options = {});

}  // namespace muster::worker
