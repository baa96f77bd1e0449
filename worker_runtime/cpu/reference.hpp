// SPDX-License-Identifier: Apache-2.0
#pragma once
// The obvious versions: the definition of correct. One loop each, in double, without a thought for
// speed. Tests hold the kernels against them.

#include "worker_runtime/cpu/matmul.hpp"
#include "worker_runtime/cpu/optimizer_steps.hpp"

#include <cstdint>
#include <span>

namespace muster::worker::cpu::reference {

double relu(double x);
double gelu(double x);
double gelu_tanh(double x);

void matmul(Product const& product, std::span<float const> a, std::span<float const> b,
            std::span<float> c);
void add_column_sums(std::span<float const> x, std::span<float> sums);
double softmax_cross_entropy(std::span<float const> logits, std::span<std::int64_t const> labels);
double squared_error(std::span<float const> x, std::span<float const> y);

// One element of one step; the state is updated in place and the new value returned.
double sgd(SgdStep const& step, double value, double grad, double& momentum_buffer);
double adam(AdamStep const& step, double value, double grad, double& exp_avg, double& exp_avg_sq);

}  // namespace muster::worker::cpu::reference
