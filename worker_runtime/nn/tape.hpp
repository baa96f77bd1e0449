// SPDX-License-Identifier: Apache-2.0
#pragma once
// A layer-level tape: one forward, one thread. Each recorded node has a closure that turns its
// output's gradient into its inputs'. backward() walks the record order reversed, frees as it goes
// and tells Parallel when a parameter's last use is done. Errors are sticky and come out of
// backward(). No topological sort, no views, no in-place tracking.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/parallel.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace muster::worker {

struct StepContext {
  std::uint64_t seed = 0, step = 0;
  std::span<std::int64_t const>
      rows{};            // global sample ids of the batch, for randomness that no layout changes
  bool training = true;  // layers behave as in training
  bool record = true;    // keep what backward needs; false: forward only
};

struct Var {
  std::uint32_t node = 0;
};

class Tape {
 public:
  using Backward = std::function<void(Tape&, Tensor const& dout)>;

  Tape(StepContext context, Parallel& parallel);

  StepContext const& context() const { return context_; }
  Parallel& parallel() { return parallel_; }

  Var input(Tensor value);
  Tensor value(Var var) const;
  // `in`: variables the closure will accumulate into; `uses`: parameters whose gradients it adds
  // to.
  Var record(std::span<Var const> in, Tensor out, std::span<Param* const> uses, Backward backward);
  // A node without output of its own that calls back around modules (Parallel::enter and leave in
  // backward).
  void mark(std::function<void(Tape&)> in_backward);
  void accumulate(Var in, Tensor din);
  void fail(Error error);

  // Loss must hold one f32 element, a sum over the batch. Returns its value.
  Result<double> backward(Var loss);

 private:
  struct Node {
    Tensor value, grad;
    std::vector<Param*> uses;
    Backward backward;
    std::function<void(Tape&)> mark;
  };

  StepContext context_;
  Parallel& parallel_;
  std::vector<Node> nodes_;
  std::unordered_map<Param*, int> uses_left_;
  std::optional<Error> error_;
};

}  // namespace muster::worker
