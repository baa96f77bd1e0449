// SPDX-License-Identifier: Apache-2.0
#pragma once
// SGD with torch's meaning of momentum, nesterov and weight decay (no dampening).

#include "worker_runtime/optim/optimizer.hpp"

namespace muster::worker {

struct SgdOptions {
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;  // needs momentum
  GroupOf group_of{};     // empty: decay_where_wanted(weight_decay)
};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(SgdOptions options = {});

 private:
  void update(Update const& update) override;
  SgdOptions options_;
};

}  // namespace muster::worker
