// SPDX-License-Identifier: Apache-2.0
// Parallel::none(): one process. The plainest implementation, and the reference for the others.
#include "worker_runtime/core/parallel.hpp"
#include "worker_runtime/cpu/elementwise.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace muster::worker {
namespace {

class LocalParallel final : public Parallel {
 public:
  explicit LocalParallel(std::vector<Param*> params) {
    for (auto* const param : params)
      if (param->spec().trainable) trainable_.push_back(param);
  }

  void begin(Window window) override {
    if (fresh_) {
      zero_gradients();
      weight_ = 0;
      bad_loss_ = 0.0;
    }
    fresh_ = finished_ = false;
    window_ = window;
    weight_ += window.local_weight;
  }

  void loss(double value) override {
    if (!std::isfinite(value)) bad_loss_ = value;
  }

  void enter(Module&, Phase) override {}
  void leave(Module&, Phase) override {}
  void ready(Param&) override {}
  Result<void> finish() override;
  bool finished() const override { return finished_; }
  std::span<ShardView> shards() override;

 private:
  std::string where() const { return "step " + std::to_string(window_.step) + ", rank 0: "; }
  void zero_gradients();

  std::vector<Param*> trainable_;
  std::vector<ShardView> shards_;
  Window window_;
  double weight_ = 0;
  double bad_loss_ = 0.0;  // the last loss that was not finite, else 0
  bool fresh_ = true;      // the next begin() starts anew, also after an error
  bool finished_ = false;
};

void LocalParallel::zero_gradients() {
  for (auto* const param : trainable_) {
    auto const grad = param->grad();
    if (!grad.storage)
      param->bind_grad(Tensor::zeros(param->spec().shape));
    else if (grad.bytes() > 0)
      std::memset(grad.data(), 0, grad.bytes());
  }
}

Result<void> LocalParallel::finish() {
  if (!window_.sync || fresh_) return ok();
  fresh_ = true;
  if (!std::isfinite(bad_loss_))
    return Error{Errc::non_finite, where() + "the loss is " + std::to_string(bad_loss_),
                 "lower the learning rate, or look at the step's input"};
  if (!(weight_ > 0))
    return Error{Errc::bad_input,
                 where() + "the window's weight is " + std::to_string(weight_) +
                     ", expected the number of samples in it",
                 "give begin() a local_weight above 0"};
  for (auto* const param : trainable_) {
    auto const grad = param->grad().as<float>();
    cpu::scale(grad, gradient_factor(weight_));
    if (auto const bad = cpu::any_non_finite(grad))
      return Error{Errc::non_finite,
                   where() + "gradient of " + param->spec().name + " is " +
                       std::to_string(grad[*bad]) + " at element " + std::to_string(*bad),
                   "lower the learning rate, or clip gradients"};
  }
  finished_ = true;
  return ok();
}

// Built afresh at each call: storage may have moved since the last one.
std::span<ShardView> LocalParallel::shards() {
  shards_.clear();
  for (auto* const param : trainable_) {
    auto const count = param->spec().shape.elements();
    auto const grad = param->grad();
    shards_.push_back({param, 0, count, param->value().flat(0, count),
                       grad.storage ? grad.flat(0, count) : Tensor{}});
  }
  return shards_;
}

}  // namespace

std::unique_ptr<Parallel> Parallel::none(std::vector<Param*> params) {
  return std::make_unique<LocalParallel>(std::move(params));
}

}  // namespace muster::worker
