// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/optimizer_steps.hpp"

#include "rendezvous/base/assert.hpp"
#include "worker_runtime/cpu/clones.hpp"
#include "worker_runtime/cpu/compute_threads.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace muster::worker::cpu {
namespace {

constexpr std::size_t kBlock = 65536;  // elements a thread takes at a time

struct SgdFactors {
  float lr, momentum, decay;
};

MUSTER_KERNEL void sgd_plain(SgdFactors f, float* value, float const* grad, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) value[i] -= f.lr * (grad[i] + f.decay * value[i]);
}

MUSTER_KERNEL void sgd_momentum(SgdFactors f, float* value, float const* grad, float* buffer,
                                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    buffer[i] = f.momentum * buffer[i] + (grad[i] + f.decay * value[i]);
    value[i] -= f.lr * buffer[i];
  }
}

MUSTER_KERNEL void sgd_nesterov(SgdFactors f, float* value, float const* grad, float* buffer,
                                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto const g = grad[i] + f.decay * value[i];
    buffer[i] = f.momentum * buffer[i] + g;
    value[i] -= f.lr * (g + f.momentum * buffer[i]);
  }
}

struct AdamFactors {
  float keep;    // 1 - lr * weight_decay where decoupled, else 1
  float decay;   // weight_decay where not decoupled, else 0
  float weight;  // 1 - beta1
  float beta2, one_minus_beta2;
  float root_correction;  // sqrt(1 - beta2^step)
  float epsilon;
  float size;  // lr / (1 - beta1^step)
};

MUSTER_KERNEL void adam_flat(AdamFactors f, float* value, float const* grad, float* m, float* v,
                             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto const g = grad[i] + f.decay * value[i];
    m[i] = m[i] + f.weight * (g - m[i]);
    v[i] = f.beta2 * v[i] + f.one_minus_beta2 * g * g;
    auto const denominator = std::sqrt(v[i]) / f.root_correction + f.epsilon;
    value[i] = f.keep * value[i] - f.size * (m[i] / denominator);
  }
}

AdamFactors factors_of(AdamStep const& step) {
  auto const count = static_cast<double>(step.step);
  auto const correction1 = 1.0 - std::pow(step.beta1, count);
  auto const correction2 = 1.0 - std::pow(step.beta2, count);
  return {.keep = static_cast<float>(step.decoupled ? 1.0 - step.lr * step.weight_decay : 1.0),
          .decay = static_cast<float>(step.decoupled ? 0.0 : step.weight_decay),
          .weight = static_cast<float>(1.0 - step.beta1),
          .beta2 = static_cast<float>(step.beta2),
          .one_minus_beta2 = static_cast<float>(1.0 - step.beta2),
          .root_correction = static_cast<float>(std::sqrt(correction2)),
          .epsilon = static_cast<float>(step.epsilon),
          .size = static_cast<float>(step.lr / correction1)};
}

// Calls block(begin, count) for fixed blocks of [0, size), on all compute threads.
template <class Block>
void for_blocks(std::size_t size, Block const& block) {
  auto const blocks = static_cast<int>((size + kBlock - 1) / kBlock);
  parallel_for(blocks, [&](int b) {
    auto const begin = static_cast<std::size_t>(b) * kBlock;
    block(begin, std::min(kBlock, size - begin));
  });
}

}  // namespace

void sgd_step(SgdStep const& step, std::span<float> value, std::span<float const> grad,
              std::span<float> momentum_buffer) {
  MUSTER_ASSERT(grad.size() == value.size(), "spans of a kernel have equal lengths");
  MUSTER_ASSERT(step.momentum == 0 || momentum_buffer.size() == value.size(),
                "momentum has a buffer of the parameter's length");
  SgdFactors const f{static_cast<float>(step.lr), static_cast<float>(step.momentum),
                     static_cast<float>(step.weight_decay)};
  for_blocks(value.size(), [&](std::size_t begin, std::size_t count) {
    auto* const w = value.data() + begin;
    auto const* const g = grad.data() + begin;
    if (step.momentum == 0)
      sgd_plain(f, w, g, count);
    else if (step.nesterov)
      sgd_nesterov(f, w, g, momentum_buffer.data() + begin, count);
    else
      sgd_momentum(f, w, g, momentum_buffer.data() + begin, count);
  });
}

void adam_step(AdamStep const& step, std::span<float> value, std::span<float const> grad,
               std::span<float> exp_avg, std::span<float> exp_avg_sq) {
  MUSTER_ASSERT(grad.size() == value.size() && exp_avg.size() == value.size() &&
                    exp_avg_sq.size() == value.size(),
                "spans of a kernel have equal lengths");
  auto const f = factors_of(step);
  for_blocks(value.size(), [&](std::size_t begin, std::size_t count) {
    adam_flat(f, value.data() + begin, grad.data() + begin, exp_avg.data() + begin,
              exp_avg_sq.data() + begin, count);
  });
}

}  // namespace muster::worker::cpu
