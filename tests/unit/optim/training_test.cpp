// SPDX-License-Identifier: Apache-2.0
// Whole steps: tape, layers, loss, Parallel and optimizer together.
#include "tests/support/golden.hpp"
#include "tests/support/mlp.hpp"
#include "worker_runtime/nn/functions.hpp"
#include "worker_runtime/optim/adam.hpp"
#include "worker_runtime/optim/sgd.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace muster::worker {
namespace {

double train_step(Sequential& net, Parallel& parallel, Optimizer& optimizer, double lr,
                  std::uint64_t step) {
  test::Batch const batch(200 + step);
  parallel.begin({.local_weight = 64, .step = step});
  Tape tape({.step = step}, parallel);
  auto const loss =
      tape.backward(softmax_cross_entropy(tape, net(tape, tape.input(batch.x)), batch.labels));
  REQUIRE(loss);
  REQUIRE(parallel.finish());
  REQUIRE(optimizer.step(parallel, lr));
  return *loss / 64;
}

void check_training(Optimizer& optimizer, double lr, char const* name, double tolerance) {
  auto const expected = test::golden("training.json")[name];
  test::Mlp mlp;
  auto const parallel = Parallel::none(mlp.net.parameters());
  std::vector<float> losses;
  for (std::uint64_t step = 0; step < 20; ++step)
    losses.push_back(static_cast<float>(train_step(mlp.net, *parallel, optimizer, lr, step)));
  test::check_close(losses, expected["losses"], tolerance);
  for (auto const* const param : mlp.net.parameters()) {
    INFO(param->spec().name);
    test::check_close(param->value().as<float>(), expected["values"][param->spec().name], tolerance,
                      97);
  }
}

TEST_CASE("20 steps of the MLP with SGD and momentum are torch's", "[optim]") {
  Sgd optimizer({.momentum = 0.9, .weight_decay = 0.01});
  check_training(optimizer, 0.05, "train_sgd", 1e-6);
}

TEST_CASE("20 steps of the MLP with AdamW are torch's", "[optim]") {
  Adam optimizer({.weight_decay = 0.1});
  // Where a gradient is near epsilon, Adam's quotient makes much of its last bits.
  check_training(optimizer, 1e-3, "train_adamw", 1e-5);
}

// Between any two calls every value and gradient is somewhere else, and where it was is poison.
class MovingParallel final : public Parallel {
 public:
  explicit MovingParallel(std::vector<Param*> params)
      : params_(params), below_(Parallel::none(std::move(params))) {}

  void begin(Window window) override {
    below_->begin(window);
    move_all();
  }
  void loss(double value) override { below_->loss(value); }
  void enter(Module& module, Phase phase) override {
    move_all();
    below_->enter(module, phase);
  }
  void leave(Module& module, Phase phase) override {
    below_->leave(module, phase);
    move_all();
  }
  void ready(Param& param) override { below_->ready(param); }
  Result<void> finish() override {
    move_all();
    return below_->finish();
  }
  bool finished() const override { return below_->finished(); }
  std::span<ShardView> shards() override {
    move_all();
    return below_->shards();
  }

  int moves = 0;

 private:
  // To a fresh place, at another alignment each time; whoever kept the old one reads NaN.
  Tensor moved(Tensor const& from) {
    auto const shift = static_cast<std::int64_t>(1 + moves % 7);
    auto const to =
        Tensor::zeros({from.elements() + shift}).flat(shift, from.elements()).reshaped(from.shape);
    std::copy(from.as<float>().begin(), from.as<float>().end(), to.as<float>().begin());
    for (auto& old : from.as<float>()) old = std::numeric_limits<float>::quiet_NaN();
    kept_.push_back(from.storage);  // not freed: a stale read is poison, not luck
    if (kept_.size() > 64) kept_.erase(kept_.begin());
    return to;
  }
  void move_all() {
    ++moves;
    for (auto* const param : params_) {
      param->bind_value(moved(param->value()));
      if (param->grad().storage) param->bind_grad(moved(param->grad()));
    }
  }

  std::vector<Param*> params_;
  std::unique_ptr<Parallel> below_;
  std::vector<std::shared_ptr<Storage>> kept_;
};

TEST_CASE("training is bit-identical while every storage moves", "[optim]") {
  test::Mlp still, moving;
  auto const local = Parallel::none(still.net.parameters());
  MovingParallel wandering(moving.net.parameters());
  Adam still_optimizer, moving_optimizer;
  for (std::uint64_t step = 0; step < 3; ++step) {
    auto const a = train_step(still.net, *local, still_optimizer, 1e-3, step);
    auto const b = train_step(moving.net, wandering, moving_optimizer, 1e-3, step);
    CHECK(a == b);
  }
  CHECK(wandering.moves > 3 * 16);
  auto const a = still.net.parameters(), b = moving.net.parameters();
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(test::same_bits(a[i]->value().as<float>(), b[i]->value().as<float>()));
}

TEST_CASE("two models train at once in one process and do not see each other", "[optim]") {
  auto const train = [](std::vector<double>& losses) {
    test::Mlp mlp;
    auto const parallel = Parallel::none(mlp.net.parameters());
    Adam optimizer;
    for (std::uint64_t step = 0; step < 5; ++step) {
      test::Batch const batch(200 + step);
      parallel->begin({.local_weight = 64});
      Tape tape({}, *parallel);
      auto const loss = tape.backward(
          softmax_cross_entropy(tape, mlp.net(tape, tape.input(batch.x)), batch.labels));
      if (!loss || !parallel->finish() || !optimizer.step(*parallel, 1e-3)) return;
      losses.push_back(*loss);
    }
  };
  std::vector<double> alone, first, second;
  train(alone);
  std::thread one([&] { train(first); }), two([&] { train(second); });
  one.join();
  two.join();
  REQUIRE(alone.size() == 5);
  CHECK(first == alone);
  CHECK(second == alone);
}

}  // namespace
}  // namespace muster::worker
