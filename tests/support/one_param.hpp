// SPDX-License-Identifier: Apache-2.0
#pragma once
// One parameter of 257 elements and made-up gradients for it, as
// tests/golden/record_training.py makes them for PyTorch's optimizers.

#include "tests/support/random_floats.hpp"
#include "worker_runtime/optim/optimizer.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <string>

namespace muster::test {

struct OneParam {
  explicit OneParam(bool decay = true) : param({.name = "weight", .shape = {257}, .decay = decay}) {
    param.bind_value(
        worker::Tensor::of<float>({257}, std::span<float const>(random_floats(257, 6))));
    parallel = worker::Parallel::none({&param});
  }

  // A finished window whose gradient is that of `step`.
  void gradient_of(std::uint64_t step) {
    parallel->begin({.step = step});
    auto const gradient = random_floats(257, 100 + step);
    std::memcpy(param.grad().data(), gradient.data(), param.grad().bytes());
    REQUIRE(parallel->finish());
  }
  void run(worker::Optimizer& optimizer, double lr, std::uint64_t steps, std::uint64_t first = 0) {
    for (auto step = first; step < first + steps; ++step) {
      gradient_of(step);
      REQUIRE(optimizer.step(*parallel, lr));
    }
  }

  worker::Param param;
  std::unique_ptr<worker::Parallel> parallel;
};

}  // namespace muster::test
