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
  // Reads `dout`, never writes it (other nodes may share its bytes). Asks parameters for value and
  // gradient when it runs, never earlier: both may have moved since the forward.
  using Backward = std::function<void(Tape&, Tensor const& dout)>;

  Tape(StepContext context, Parallel& parallel);
  Tape(Tape const&) = delete;
  Tape& operator=(Tape const&) = delete;

  StepContext const& context() const { return context_; }
  Parallel& parallel() { return parallel_; }

  // Data. Its gradient is worked out only if wanted; grad() has it after backward().
  Var input(Tensor value, bool wants_grad = false);
  Tensor value(Var var) const;
  Tensor grad(Var var) const;
  // Whether anything upstream of `var` learns: where not, a closure may skip that gradient.
  bool needs_grad(Var var) const;
  // `in`: variables the closure will accumulate into; `uses`: parameters whose gradients it adds
  // to (frozen ones may be among them; they get none). A node that cannot need a gradient drops
  // its closure.
  Var record(std::span<Var const> in, Tensor out, std::span<Param* const> uses, Backward backward);
  // A node without output of its own that calls back around modules (Parallel::enter and leave in
  // backward).
  void mark(std::function<void(Tape&)> in_backward);
  // Adds a gradient to a variable; shares `din`'s bytes until a second one comes.
  void accumulate(Var in, Tensor din);
  // The first error wins; layers that see failed() return their input untouched.
  void fail(Error error);
  bool failed() const { return error_.has_value(); }
  Result<void> status() const;  // for forwards without a backward

  // Loss must hold one f32 element, a sum over the batch. Returns its value. Once a tape. A loss
  // that is not finite goes to Parallel::loss() and out of its finish(), where all ranks agree.
  Result<double> backward(Var loss);

 private:
  struct Node {
    Tensor value{}, grad{};
    std::vector<Param*> uses{};
    Backward backward{};
    std::function<void(Tape&)> mark{};
    bool needs_grad = false;
  };
  struct Use {
    int left = 0;          // recorded uses that backward has not passed yet
    bool reached = false;  // one of those passed got a gradient
  };

  void count_down(Node const& node, bool reached);
  Result<void> seed(Var loss);

  StepContext context_;
  Parallel& parallel_;
  std::vector<Node> nodes_;
  std::unordered_map<Param*, Use> uses_;
  std::optional<Error> error_;
  bool walked_ = false;
};

}  // namespace muster::worker
