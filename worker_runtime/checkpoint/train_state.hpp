// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a checkpoint holds, as views: saving reads the tensors, loading writes into them. So the
// program's own parameters and optimizer state go in, and nothing is copied twice.

#include "worker_runtime/checkpoint/safetensors.hpp"
#include "worker_runtime/checkpoint/trainer_state.hpp"
#include "worker_runtime/core/param.hpp"
#include "worker_runtime/optim/optimizer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace muster::worker {

struct TrainState {
  std::vector<NamedTensor> model;      // torch's state_dict names: "0.weight"
  std::vector<NamedTensor> optimizer;  // parameter, dot, torch's state name: "0.weight.exp_avg"
  TrainerState trainer;
};

// The parameters' present values. Ask again after anything that moves storage.
std::vector<NamedTensor> named_values(std::span<Param* const> params);

// An optimizer's whole state by parameter and torch's name, in the parameters' shapes. For a rank
// that updates all of every parameter, as in DDP.
std::vector<NamedTensor> named_states(std::span<StateView const> states);

// Of names, types and shapes in any order: equal for a model and its checkpoint.
std::string fingerprint_of(std::span<NamedTensor const> tensors);

}  // namespace muster::worker
