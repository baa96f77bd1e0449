// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/module.hpp"

#include "worker_runtime/core/initial_values.hpp"

namespace muster::worker {

Var Module::operator()(Tape& tape, Var in) {
  if (tape.failed()) return in;
  tape.parallel().enter(*this, Phase::forward);
  tape.mark([this](Tape& t) { t.parallel().leave(*this, Phase::backward); });
  auto const out = forward(tape, in);
  tape.mark([this](Tape& t) { t.parallel().enter(*this, Phase::backward); });
  tape.parallel().leave(*this, Phase::forward);
  return out;
}

std::vector<Param*> Module::parameters() {
  std::vector<Param*> all;
  for (auto& param : params_) all.push_back(&param);
  for (auto const& [name, module] : children_) {
    auto const below = module->parameters();
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

Param& Module::declare(ParamSpec spec) {
  MUSTER_ASSERT(spec.dtype == DType::f32, "parameters are f32");
  spec.name = prefix_ + spec.name;
  return params_.emplace_back(std::move(spec));
}

void Module::child(std::string name, Module& module) {
  MUSTER_ASSERT(!module.attached_, "a module has one place in the tree; call it twice instead");
  module.attached_ = true;
  module.rename_under(prefix_ + name + ".");
  children_.emplace_back(std::move(name), &module);
}

void Module::rename_under(std::string const& prefix) {
  prefix_ = prefix + prefix_;
  for (auto& param : params_) param.rename(prefix + param.spec().name);
  for (auto const& [name, module] : children_) module->rename_under(prefix);
}

void materialize(Module& root, std::uint64_t seed) {
  for (auto* const param : root.parameters()) {
    auto value = Tensor::zeros(param->spec().shape);
    fill_initial(param->spec(), seed, 0, value.as<float>());
    param->bind_value(std::move(value));
  }
}

}  // namespace muster::worker
