// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small classifier with made-up data for tests of training: two linear layers, and batches that
// are a function of (step, rank) alone.

#include "rendezvous/base/random.hpp"
#include "worker_runtime/nn/activations.hpp"
#include "worker_runtime/nn/functions.hpp"
#include "worker_runtime/nn/linear.hpp"
#include "worker_runtime/nn/sequential.hpp"

#include <cstdint>
#include <utility>

namespace muster::test {

inline constexpr std::int64_t kInputs = 20, kClasses = 5;

struct SmallNet {
  worker::Sequential net;

  explicit SmallNet(std::int64_t hidden = 33) {
    net.add<worker::Linear>(kInputs, hidden);
    net.add<worker::ReLU>();
    net.add<worker::Linear>(hidden, kClasses);
  }
};

struct SmallBatch {
  worker::Tensor inputs, labels;
};

inline SmallBatch small_batch(std::uint64_t step, int rank, std::int64_t rows) {
  Random random(step * 1000 + static_cast<std::uint64_t>(rank));
  SmallBatch batch{worker::Tensor::zeros(worker::Shape{rows, kInputs}),
                   worker::Tensor::zeros(worker::Shape{rows}, worker::DType::i64)};
  for (auto& value : batch.inputs.as<float>())
    value = static_cast<float>(random.unit() * 2.0 - 1.0);
  for (auto& label : batch.labels.as<std::int64_t>())
    label = static_cast<std::int64_t>(random.below(kClasses));
  return batch;
}

// Forward and backward of one batch; the sum of its losses.
inline Result<double> backward(worker::Module& net, worker::Parallel& parallel,
                               SmallBatch const& batch, std::uint64_t step = 0) {
  worker::Tape tape({.seed = 1, .step = step}, parallel);
  auto const logits = net(tape, tape.input(batch.inputs));
  return tape.backward(worker::softmax_cross_entropy(tape, logits, batch.labels));
}

}  // namespace muster::test
