// SPDX-License-Identifier: Apache-2.0
#pragma once
// y = x W^T + b, with torch's names, shapes and first distribution: weight [out, in] and bias
// [out], uniform in +-1/sqrt(in). The bias takes no weight decay.

#include "worker_runtime/nn/module.hpp"

#include <cstdint>
#include <vector>

namespace muster::worker {

class Linear final : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true);
  // Without parameters of its own: a weight [out, in] tied to another layer's, which outlives this.
  explicit Linear(Param& tied_weight);

  Param& weight() { return *weight_; }
  Param* bias() { return bias_; }  // null without one

 private:
  Var forward(Tape& tape, Var in) override;
  void backward(Tape& tape, Var in, Tensor const& x, Tensor const& dout);

  Param* weight_ = nullptr;
  Param* bias_ = nullptr;
  std::vector<Param*> uses_;
};

}  // namespace muster::worker
