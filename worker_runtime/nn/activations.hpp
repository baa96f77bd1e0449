// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layers without parameters.

#include "worker_runtime/nn/module.hpp"

namespace muster::worker {

class ReLU final : public Module {
 private:
  Var forward(Tape& tape, Var in) override;
};

class GELU final : public Module {
 public:
  enum class Form { erf, tanh };  // torch's approximate="none" and "tanh"
  explicit GELU(Form form = Form::erf) : form_(form) {}

 private:
  Var forward(Tape& tape, Var in) override;
  Form form_;
};

}  // namespace muster::worker
