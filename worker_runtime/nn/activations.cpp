// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/activations.hpp"

#include "worker_runtime/cpu/activation.hpp"

namespace muster::worker {

Var ReLU::forward(Tape& tape, Var in) {
  auto const x = tape.value(in);
  auto const out = Tensor::zeros(x.shape);
  cpu::relu_forward(x.as<float>(), out.as<float>());
  return tape.record({&in, 1}, out, {}, [in, out](Tape& t, Tensor const& dout) {
    auto const dx = Tensor::zeros(out.shape);
    cpu::relu_backward(out.as<float>(), dout.as<float>(), dx.as<float>());
    t.accumulate(in, dx);
  });
}

Var GELU::forward(Tape& tape, Var in) {
  auto const x = tape.value(in);
  auto const out = Tensor::zeros(x.shape);
  auto const forward_kernel = form_ == Form::erf ? cpu::gelu_forward : cpu::gelu_tanh_forward;
  auto const backward_kernel = form_ == Form::erf ? cpu::gelu_backward : cpu::gelu_tanh_backward;
  forward_kernel(x.as<float>(), out.as<float>());
  return tape.record({&in, 1}, out, {}, [in, x, backward_kernel](Tape& t, Tensor const& dout) {
    auto const dx = Tensor::zeros(x.shape);
    backward_kernel(x.as<float>(), dout.as<float>(), dx.as<float>());
    t.accumulate(in, dx);
  });
}

}  // namespace muster::worker
