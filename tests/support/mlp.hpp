// SPDX-License-Identifier: Apache-2.0
#pragma once
// The MLP 784-256-10 of the main job with made-up values and batches, as
// tests/golden/record_training.py makes them for PyTorch.

#include "tests/support/random_floats.hpp"
#include "worker_runtime/nn/activations.hpp"
#include "worker_runtime/nn/linear.hpp"
#include "worker_runtime/nn/sequential.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace muster::test {

inline worker::Tensor random_tensor(worker::Shape shape, std::uint64_t seed, float scale = 1.0F) {
  auto const values = random_floats(static_cast<std::size_t>(shape.elements()), seed, scale);
  return worker::Tensor::of<float>(shape, values);
}

struct Mlp {
  worker::Sequential net;

  Mlp() {
    net.add<worker::Linear>(784, 256);
    net.add<worker::ReLU>();
    net.add<worker::Linear>(256, 10);
    float const scales[] = {1.0F / 28, 1.0F / 28, 1.0F / 16, 1.0F / 16};
    auto const params = net.parameters();
    for (std::size_t i = 0; i < params.size(); ++i)
      params[i]->bind_value(random_tensor(params[i]->spec().shape, 10 + i, scales[i]));
  }
};

struct Batch {
  worker::Tensor x, labels;
  explicit Batch(std::uint64_t seed)
      : x(random_tensor({64, 784}, seed)), labels(worker::Tensor::zeros({64}, worker::DType::i64)) {
    auto const label = labels.as<std::int64_t>();
    for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int64_t>(i * 7 % 10);
  }
};

}  // namespace muster::test
