// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/tape.hpp"

#include "worker_runtime/cpu/elementwise.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace muster::worker {

Tape::Tape(StepContext context, Parallel& parallel) : context_(context), parallel_(parallel) {}

Var Tape::input(Tensor value, bool wants_grad) {
  nodes_.push_back({.value = std::move(value), .needs_grad = wants_grad && context_.record});
  return Var{static_cast<std::uint32_t>(nodes_.size() - 1)};
}

Tensor Tape::value(Var var) const {
  MUSTER_ASSERT(var.node < nodes_.size(), "a variable belongs to this tape");
  return nodes_[var.node].value;
}

Tensor Tape::grad(Var var) const {
  MUSTER_ASSERT(var.node < nodes_.size(), "a variable belongs to this tape");
  return nodes_[var.node].grad;
}

bool Tape::needs_grad(Var var) const {
  MUSTER_ASSERT(var.node < nodes_.size(), "a variable belongs to this tape");
  return nodes_[var.node].needs_grad;
}

Var Tape::record(std::span<Var const> in, Tensor out, std::span<Param* const> uses,
                 Backward backward) {
  Node node{.value = std::move(out)};
  if (context_.record) {
    std::copy_if(uses.begin(), uses.end(), std::back_inserter(node.uses),
                 [](Param* param) { return param->spec().trainable; });
    node.needs_grad = !node.uses.empty() ||
                      std::any_of(in.begin(), in.end(), [&](Var v) { return needs_grad(v); });
    for (auto* const param : node.uses) ++uses_[param].left;
    if (node.needs_grad) node.backward = std::move(backward);
  }
  nodes_.push_back(std::move(node));
  return Var{static_cast<std::uint32_t>(nodes_.size() - 1)};
}

void Tape::mark(std::function<void(Tape&)> in_backward) {
  if (context_.record) nodes_.push_back({.mark = std::move(in_backward)});
}

void Tape::accumulate(Var in, Tensor din) {
  MUSTER_ASSERT(in.node < nodes_.size(), "a variable belongs to this tape");
  auto& node = nodes_[in.node];
  if (!node.needs_grad) return;
  MUSTER_ASSERT(din.shape == node.value.shape, "a gradient has its variable's shape");
  if (!node.grad.storage) {
    node.grad = std::move(din);
    return;
  }
  // Somebody else may look at the bytes of the first gradient: add into them only if nobody does.
  if (node.grad.storage.use_count() > 1) node.grad = node.grad.clone();
  cpu::add_into(node.grad.as<float>(), din.as<float>());
}

void Tape::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<void> Tape::status() const {
  if (error_) return *error_;
  return ok();
}

void Tape::count_down(Node const& node, bool reached) {
  for (auto* const param : node.uses) {
    auto& use = uses_[param];
    use.reached = use.reached || reached;
    if (--use.left == 0 && use.reached) parallel_.ready(*param);
  }
}

Result<void> Tape::seed(Var loss) {
  if (walked_ || !context_.record)
    return Error{Errc::bad_input,
                 walked_ ? "tape: backward was already run; its activations are gone"
                         : "tape: backward of a forward that did not record",
                 "make a new tape, with record = true, for each training step"};
  walked_ = true;
  auto& node = nodes_[loss.node];
  if (node.value.elements() != 1 || node.value.dtype != DType::f32)
    return Error{Errc::bad_input,
                 "tape: backward starts at a tensor of shape " + to_string(node.value.shape) +
                     ", expected one f32 element",
                 "end the forward with a loss function"};
  node.grad = Tensor::zeros(node.value.shape);
  node.grad.as<float>()[0] = 1.0F;
  return ok();
}

Result<double> Tape::backward(Var loss) {
  MUSTER_CHECK(status());
  MUSTER_ASSERT(loss.node < nodes_.size(), "a variable belongs to this tape");
  MUSTER_CHECK(seed(loss));
  auto const value = static_cast<double>(nodes_[loss.node].value.as<float>()[0]);
  parallel_.loss(value);
  for (auto i = nodes_.size(); i-- > 0;) {
    auto& node = nodes_[i];
    if (node.mark) {
      node.mark(*this);
      node.mark = nullptr;
    }
    if (!node.backward) continue;  // inputs keep their gradient
    auto const dout = std::exchange(node.grad, {});
    auto const closure = std::exchange(node.backward, nullptr);
    node.value.storage.reset();
    bool const reached = dout.storage != nullptr;
    if (reached) closure(*this, dout);
    MUSTER_CHECK(status());
    count_down(node, reached);
  }
  return value;
}

}  // namespace muster::worker
