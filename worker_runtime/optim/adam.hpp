// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW and Adam with torch's arithmetic and defaults.

#include "worker_runtime/optim/optimizer.hpp"

namespace muster::worker {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;  // torch.optim.AdamW's default is 1e-2, Adam's is 0
  bool decoupled = true;    // AdamW; false: Adam, whose decay is part of the gradient
  GroupOf group_of{};       // empty: decay_where_wanted(weight_decay)
};

class Adam final : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {});

 private:
  void update(Update const& update) override;
  AdamOptions options_;
};

}  // namespace muster::worker
