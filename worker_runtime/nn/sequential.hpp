// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layers one after another, owned, named "0", "1", ... as torch.nn.Sequential names them.

#include "worker_runtime/nn/module.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace muster::worker {

class Sequential final : public Module {
 public:
  // auto& hidden = net.add<Linear>(784, 256);
  template <class Layer, class... Args>
  Layer& add(Args&&... args) {
    auto made = std::make_unique<Layer>(std::forward<Args>(args)...);
    auto& layer = *made;
    child(std::to_string(layers_.size()), layer);
    layers_.push_back(std::move(made));
    return layer;
  }

  std::size_t size() const { return layers_.size(); }
  Module& operator[](std::size_t i) { return *layers_[i]; }

 private:
  Var forward(Tape& tape, Var in) override {
    for (auto const& layer : layers_) in = (*layer)(tape, in);
    return in;
  }

  std::vector<std::unique_ptr<Module>> layers_;
};

}  // namespace muster::worker
