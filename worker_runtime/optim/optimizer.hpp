// SPDX-License-Identifier: Apache-2.0
#pragma once
// Optimizers over Parallel::shards(): flat, elementwise, so any sharding gives the same bits. They
// keep state per shard and no pointer into a parameter. One thread.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/parallel.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace muster::worker {

// What a group of parameters has of its own.
struct ParamGroup {
  double weight_decay = 0;
  double lr_scale = 1;
};
// Chooses the group of a parameter. The default: the optimizer's weight decay where
// ParamSpec::decay, none elsewhere (biases, norms).
using GroupOf = std::function<ParamGroup(ParamSpec const&)>;

// One state tensor of one shard: elements [begin, end) of the flattened parameter, 1-d. `value`
// shares the optimizer's bytes: read it to save, write it to load.
struct StateView {
  Param* param = nullptr;
  std::string_view name;  // torch's: "exp_avg", "exp_avg_sq", "momentum_buffer"
  std::int64_t begin = 0, end = 0;
  Tensor value;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(Optimizer const&) = delete;
  Optimizer& operator=(Optimizer const&) = delete;

  // Updates every shard. Refused before Parallel::finish() of a synchronised window.
  Result<void> step(Parallel& parallel, double lr);

  // All state, in the order of shards(); made (zeroed) if no step was done yet, so that a fresh
  // optimizer can be loaded into.
  Result<std::vector<StateView>> state(Parallel& parallel);
  // torch's "step": updates done so far, the same for all parameters.
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 protected:
  Optimizer(std::vector<std::string_view> state_names, GroupOf group_of);

  struct Update {
    std::span<float> value;
    std::span<float const> grad;
    std::span<std::span<float> const> state;  // in the order of the names
    ParamGroup group;
    double lr = 0;           // already scaled by the group
    std::uint64_t step = 1;  // counts from 1
  };
  virtual void update(Update const& update) = 0;

 private:
  struct Slot {
    Param* param = nullptr;
    std::int64_t begin = 0, end = 0;
    ParamGroup group{};
    std::vector<Tensor> state{};
  };
  Result<void> fit(std::span<ShardView const> shards);

  std::vector<std::string_view> names_;
  GroupOf group_of_;
  std::vector<Slot> slots_;
  std::uint64_t steps_ = 0;
};

// A group rule: `weight_decay` where ParamSpec::decay, 0 elsewhere.
GroupOf decay_where_wanted(double weight_decay);

}  // namespace muster::worker
