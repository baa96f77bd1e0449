// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/adam.hpp"

#include "worker_runtime/cpu/optimizer_steps.hpp"

#include <utility>

namespace muster::worker {

Adam::Adam(AdamOptions options)
    : Optimizer({"exp_avg", "exp_avg_sq"},
                options.group_of ? options.group_of : decay_where_wanted(options.weight_decay)),
      options_(std::move(options)) {}

void Adam::update(Update const& update) {
  cpu::adam_step({.lr = update.lr,
                  .beta1 = options_.beta1,
                  .beta2 = options_.beta2,
                  .epsilon = options_.epsilon,
                  .weight_decay = update.group.weight_decay,
                  .decoupled = options_.decoupled,
                  .step = update.step},
                 update.value, update.grad, update.state[0], update.state[1]);
}

}  // namespace muster::worker
