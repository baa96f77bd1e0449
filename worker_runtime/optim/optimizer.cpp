// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/optimizer.hpp"

#include <string>
#include <utility>

namespace muster::worker {

GroupOf decay_where_wanted(double weight_decay) {
  return [weight_decay](ParamSpec const& spec) {
    return ParamGroup{.weight_decay = spec.decay ? weight_decay : 0.0};
  };
}

Optimizer::Optimizer(std::vector<std::string_view> state_names, GroupOf group_of)
    : names_(std::move(state_names)), group_of_(std::move(group_of)) {}

Result<void> Optimizer::step(Parallel& parallel, double lr) {
  if (!parallel.finished())
    return Error{Errc::bad_input,
                 "optimizer: step before the gradients are final: the last window is not finished, "
                 "or was not synchronised",
                 "end a window of accumulated backwards with sync = true, then call finish()"};
  auto const shards = parallel.shards();
  MUSTER_CHECK(fit(shards));
  ++steps_;
  std::vector<std::span<float>> state(names_.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    auto const& slot = slots_[i];
    for (std::size_t s = 0; s < state.size(); ++s) state[s] = slot.state[s].as<float>();
    update({.value = shards[i].value.as<float>(),
            .grad = shards[i].grad.as<float>(),
            .state = state,
            .group = slot.group,
            .lr = lr * slot.group.lr_scale,
            .step = steps_});
  }
  return ok();
}

Result<std::vector<StateView>> Optimizer::state(Parallel& parallel) {
  MUSTER_CHECK(fit(parallel.shards()));
  std::vector<StateView> all;
  for (auto const& slot : slots_)
    for (std::size_t s = 0; s < names_.size(); ++s)
      all.push_back({slot.param, names_[s], slot.begin, slot.end, slot.state[s]});
  return all;
}

// State belongs to element ranges; it is made once, and another layout later is an error.
Result<void> Optimizer::fit(std::span<ShardView const> shards) {
  if (slots_.empty())
    for (auto const& shard : shards) {
      Slot slot{shard.param, shard.begin, shard.end, group_of_(shard.param->spec())};
      for (std::size_t s = 0; s < names_.size(); ++s)
        slot.state.push_back(Tensor::zeros({shard.end - shard.begin}));
      slots_.push_back(std::move(slot));
    }
  if (slots_.size() != shards.size())
    return Error{Errc::mismatch,
                 "optimizer: " + std::to_string(shards.size()) + " shards, state is for " +
                     std::to_string(slots_.size()),
                 "use one optimizer for one model and one layout"};
  for (std::size_t i = 0; i < shards.size(); ++i)
    if (slots_[i].param != shards[i].param || slots_[i].begin != shards[i].begin ||
        slots_[i].end != shards[i].end)
      return Error{Errc::mismatch,
                   "optimizer: shard " + std::to_string(i) + " is now elements " +
                       std::to_string(shards[i].begin) + " to " + std::to_string(shards[i].end) +
                       " of " + shards[i].param->spec().name + ", its state is of another range",
                   "use one optimizer for one model and one layout"};
  return ok();
}

}  // namespace muster::worker
