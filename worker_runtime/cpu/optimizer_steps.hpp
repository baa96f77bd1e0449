// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fused, flat optimizer updates with torch's arithmetic; same bits at any offset and length, on any
// number of compute threads. Spans of one call have equal lengths.

#include <cstdint>
#include <span>

namespace muster::worker::cpu {

struct SgdStep {
  double lr = 0, momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
// `momentum_buffer` may be empty where momentum is 0.
void sgd_step(SgdStep const& step, std::span<float> value, std::span<float const> grad,
              std::span<float> momentum_buffer);

struct AdamStep {
  double lr = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = true;   // AdamW; false: Adam with L2
  std::uint64_t step = 1;  // counts from 1
};
void adam_step(AdamStep const& step, std::span<float> value, std::span<float const> grad,
               std::span<float> exp_avg, std::span<float> exp_avg_sq);

}  // namespace muster::worker::cpu
