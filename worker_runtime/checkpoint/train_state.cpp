// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/train_state.hpp"

#include "worker_runtime/core/fingerprint.hpp"

#include <algorithm>

namespace muster::worker {

std::vector<NamedTensor> named_values(std::span<Param* const> params) {
  std::vector<NamedTensor> named;
  for (auto const* param : params) named.push_back({param->spec().name, param->value()});
  return named;
}

std::vector<NamedTensor> named_states(std::span<StateView const> states) {
  std::vector<NamedTensor> named;
  for (auto const& state : states) {
    auto const& spec = state.param->spec();
    MUSTER_ASSERT(state.begin == 0 && state.end == spec.shape.elements(), "state is whole");
    named.push_back({spec.name + "." + std::string(state.name), state.value.reshaped(spec.shape)});
  }
  return named;
}

std::string fingerprint_of(std::span<NamedTensor const> tensors) {
  std::vector<std::string> lines;
  for (auto const& [name, tensor] : tensors)
    lines.push_back(name + ": " + std::string(name_of(tensor.dtype)) + to_string(tensor.shape));
  std::sort(lines.begin(), lines.end());
  Fingerprint print;
  for (auto const& line : lines) print.add_sized(line);
  return print.hex();
}

}  // namespace muster::worker
