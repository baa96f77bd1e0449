// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/simulated_world.hpp"

#include "worker_runtime/collectives/reduction_order.hpp"
#include "worker_runtime/cpu/elementwise.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace muster::worker {
namespace {

class SimulatedWorld final : public Parallel {
 public:
  SimulatedWorld(std::vector<Param*> params, int size) : size_(size) {
    for (auto* const param : params)
      if (param->spec().trainable) params_.push_back(param);
  }

  void begin(Window window) override;
  void loss(double value) override {
    if (!std::isfinite(value)) fail("the loss is " + std::to_string(value));
  }
  void enter(Module&, Phase) override {}
  void leave(Module&, Phase) override {}
  void ready(Param&) override {}
  Result<void> finish() override;
  bool finished() const override { return finished_; }
  std::span<ShardView> shards() override;

 private:
  int rank() const { return static_cast<int>(weights_.size()) - 1; }
  void fail(std::string const& seen) {
    if (!error_)
      error_ = Error{
          Errc::non_finite,
          "step " + std::to_string(window_.step) + ", rank " + std::to_string(rank()) + ": " + seen,
          "lower the learning rate, or clip gradients"};
  }

  std::vector<Param*> params_;
  int size_;
  std::vector<std::vector<Tensor>> gradients_;  // by rank, then by parameter
  std::vector<double> weights_;
  std::vector<ShardView> shards_;
  std::optional<Error> error_;
  Window window_{};
  bool finished_ = false;
};

void SimulatedWorld::begin(Window window) {
  if (finished_) {
    gradients_.clear();
    weights_.clear();
  }
  finished_ = false;
  window_ = window;
  weights_.push_back(window.local_weight);
  auto& mine = gradients_.emplace_back();
  for (auto* const param : params_) {
    param->bind_grad(Tensor::zeros(param->spec().shape));
    mine.push_back(param->grad());
  }
}

Result<void> SimulatedWorld::finish() {
  if (!window_.sync) return ok();
  if (static_cast<int>(weights_.size()) != size_)
    return Error{Errc::bad_input,
                 "a window of " + std::to_string(weights_.size()) +
                     " micro-batches in a world of " + std::to_string(size_),
                 "begin() once for each rank, with sync at the last one"};
  if (error_) return *error_;
  auto const weight = tree_fold(
      0, size_, [&](int i) { return weights_[static_cast<std::size_t>(i)]; }, std::plus<>());
  for (std::size_t p = 0; p < params_.size(); ++p) {
    auto const add = [](Tensor low, Tensor const& high) {
      cpu::add_into(low.as<float>(), high.as<float>());
      return low;
    };
    auto const sum = tree_fold(
        0, size_, [&](int i) { return gradients_[static_cast<std::size_t>(i)][p]; }, add);
    cpu::scale(sum.as<float>(), gradient_factor(weight));
    params_[p]->bind_grad(sum);
    if (cpu::any_non_finite(sum.as<float>()))
      fail("the gradient of " + params_[p]->spec().name + " is not finite");
  }
  if (error_) return *error_;
  finished_ = true;
  return ok();
}

std::span<ShardView> SimulatedWorld::shards() {
  shards_.clear();
  for (auto* const param : params_) {
    auto const count = param->spec().shape.elements();
    auto const grad = param->grad();
    shards_.push_back({param, 0, count, param->value().flat(0, count),
                       grad.storage ? grad.flat(0, count) : Tensor{}});
  }
  return shards_;
}

}  // namespace

std::unique_ptr<Parallel> simulate_world(std::vector<Param*> params, int size) {
  return std::make_unique<SimulatedWorld>(std::move(params), size);
}

}  // namespace muster::worker
