// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a training loop, a tape and an optimizer see of DDP, ZeRO or FSDP. Implementations:
// Parallel::none() (one process), ddp/. One thread (the training loop's) calls all of it.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/param.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace muster::worker {

class Module;

enum class Phase : std::uint8_t { forward, backward };

// One backward. With sync=false gradients only accumulate locally (torch's no_sync). Gradients are
// sums over samples; finish() divides by the sum over ranks (and over the window's unsynced
// backwards) of local_weight, so uneven last batches are right.
struct Window {
  bool sync = true;
  double local_weight = 1.0;
};

// Elements [begin, end) of the flattened parameter that this rank updates, as 1-d tensors.
struct ShardView {
  Param* param = nullptr;
  std::int64_t begin = 0, end = 0;
  Tensor value, grad;
};

class Parallel {
 public:
  virtual ~Parallel() = default;

  virtual void begin(Window window) = 0;
  virtual void enter(Module& module, Phase phase) = 0;
  virtual void leave(Module& module, Phase phase) = 0;
  virtual void ready(
      Param& param) = 0;  // its gradient of this backward is complete; once a backward
  virtual Result<void>
  finish() = 0;  // gradients are final afterwards; non-finite ones are an error that names them
  virtual std::span<ShardView> shards() = 0;  // all that optimizers, clipping and checkpoints see

  // One process: gradients are divided by the window's weight, nothing is sent.
  static std::unique_ptr<Parallel> none(Module& root);
};

}  // namespace muster::worker
