// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/sgd.hpp"

#include "worker_runtime/cpu/optimizer_steps.hpp"

#include <utility>

namespace muster::worker {

Sgd::Sgd(SgdOptions options)
    : Optimizer(options.momentum == 0 ? std::vector<std::string_view>{}
                                      : std::vector<std::string_view>{"momentum_buffer"},
                options.group_of ? options.group_of : decay_where_wanted(options.weight_decay)),
      options_(std::move(options)) {
  MUSTER_ASSERT(!options_.nesterov || options_.momentum > 0, "nesterov needs momentum");
}

void Sgd::update(Update const& update) {
  cpu::sgd_step({.lr = update.lr,
                 .momentum = options_.momentum,
                 .weight_decay = update.group.weight_decay,
                 .nesterov = options_.nesterov},
                update.value, update.grad,
                update.state.empty() ? std::span<float>{} : update.state[0]);
}

}  // namespace muster::worker
