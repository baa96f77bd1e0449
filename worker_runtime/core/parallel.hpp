// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a training loop, a tape and an optimizer see of DDP, ZeRO or FSDP. Implementations:
// Parallel::none() (one process), ddp/. One thread (the training loop's) calls all of it.
// A step: begin(window), forward and backward (the tape calls loss, enter, leave, ready), finish(),
// optimizer. A hand-written backward makes the same calls without a tape.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/param.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace muster::worker {

class Module;

enum class Phase : std::uint8_t { forward, backward };

// One backward. With sync=false gradients only accumulate locally (torch's no_sync). Gradients are
// sums over samples; finish() multiplies them by gradient_factor(sum over ranks, and over the
// window's unsynced backwards, of local_weight), so uneven last batches are right.
struct Window {
  bool sync = true;
  double local_weight = 1.0;  // samples, or unmasked tokens
  std::uint64_t step = 0;     // for messages only
};

// The one way to turn a window's global weight into a factor: all strategies give the same bits.
inline float gradient_factor(double global_weight) {
  return static_cast<float>(1.0 / global_weight);
}

// Elements [begin, end) of the flattened parameter that this rank updates, as 1-d tensors.
struct ShardView {
  Param* param = nullptr;
  std::int64_t begin = 0, end = 0;
  Tensor value, grad;
};

class Parallel {
 public:
  virtual ~Parallel() = default;

  // Binds a gradient to every trainable parameter; the first begin() after a finish() zeroes them.
  virtual void begin(Window window) = 0;
  // The local loss, before its gradients. A non-finite one makes finish() fail on all ranks.
  virtual void loss(double value) = 0;
  virtual void enter(Module& module, Phase phase) = 0;
  virtual void leave(Module& module, Phase phase) = 0;
  // Its gradient of this backward is complete; once a backward. Never called for a parameter that
  // the loss does not reach: its gradient of this backward is zero.
  virtual void ready(Param& param) = 0;
  // After a window with sync: gradients are final, and non-finite ones are an error that names
  // step, rank and parameter. After one without: nothing.
  virtual Result<void> finish() = 0;
  // True from finish() of a synchronised window to the next begin(): only then may an optimizer
  // step.
  virtual bool finished() const = 0;
  // Trainable parameters in registration order: all that optimizers, clipping and checkpoints see.
  virtual std::span<ShardView> shards() = 0;

  // One process: gradients are divided by the window's weight, nothing is sent. Give it
  // module.parameters().
  static std::unique_ptr<Parallel> none(std::vector<Param*> params);
};

}  // namespace muster::worker
