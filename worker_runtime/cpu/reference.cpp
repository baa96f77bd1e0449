// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace muster::worker::cpu::reference {

double relu(double x) {
  return x < 0 ? 0 : x;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

double gelu_tanh(double x) {
  auto const inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

void matmul(Product const& product, std::span<float const> a, std::span<float const> b,
            std::span<float> c) {
  auto const m = static_cast<std::size_t>(product.m), n = static_cast<std::size_t>(product.n),
             k = static_cast<std::size_t>(product.k);
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      double sum = product.accumulate ? static_cast<double>(c[row * n + column]) : 0.0;
      for (std::size_t i = 0; i < k; ++i)
        sum += static_cast<double>(a[product.transpose_a ? i * m + row : row * k + i]) *
               static_cast<double>(b[product.transpose_b ? column * k + i : i * n + column]);
      c[row * n + column] = static_cast<float>(sum);
    }
}

void add_column_sums(std::span<float const> x, std::span<float> sums) {
  for (std::size_t column = 0; column < sums.size(); ++column) {
    float sum = 0;  // in float, first row to last: the order is part of the definition
    for (auto i = column; i < x.size(); i += sums.size()) sum += x[i];
    sums[column] += sum;
  }
}

double softmax_cross_entropy(std::span<float const> logits, std::span<std::int64_t const> labels) {
  auto const classes = labels.empty() ? 0 : logits.size() / labels.size();
  double loss = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    auto const x = logits.subspan(row * classes, classes);
    auto const largest = static_cast<double>(*std::max_element(x.begin(), x.end()));
    double sum = 0;
    for (auto const value : x) sum += std::exp(static_cast<double>(value) - largest);
    loss += std::log(sum) + largest - static_cast<double>(x[static_cast<std::size_t>(labels[row])]);
  }
  return loss;
}

double squared_error(std::span<float const> x, std::span<float const> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
  return sum;
}

double sgd(SgdStep const& step, double value, double grad, double& momentum_buffer) {
  grad += step.weight_decay * value;
  momentum_buffer = step.momentum * momentum_buffer + grad;
  auto const direction = step.nesterov ? grad + step.momentum * momentum_buffer : momentum_buffer;
  return value - step.lr * direction;
}

double adam(AdamStep const& step, double value, double grad, double& exp_avg, double& exp_avg_sq) {
  if (step.decoupled)
    value -= step.lr * step.weight_decay * value;
  else
    grad += step.weight_decay * value;
  exp_avg = step.beta1 * exp_avg + (1 - step.beta1) * grad;
  exp_avg_sq = step.beta2 * exp_avg_sq + (1 - step.beta2) * grad * grad;
  auto const count = static_cast<double>(step.step);
  auto const mean = exp_avg / (1 - std::pow(step.beta1, count));
  auto const variance = exp_avg_sq / (1 - std::pow(step.beta2, count));
  return value - step.lr * mean / (std::sqrt(variance) + step.epsilon);
}

}  // namespace muster::worker::cpu::reference
