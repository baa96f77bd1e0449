// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/loss.hpp"

#include "rendezvous/base/assert.hpp"
#include "worker_runtime/cpu/clones.hpp"

#include <algorithm>
#include <cmath>

namespace muster::worker::cpu {
namespace {

std::size_t classes_of(std::size_t elements, std::size_t rows) {
  MUSTER_ASSERT(rows == 0 ? elements == 0 : elements % rows == 0, "a matrix has whole rows");
  return rows == 0 ? 0 : elements / rows;
}

// Softmax of one row; returns -log of it at `label`. A NaN anywhere makes the loss NaN.
double softmax_row(std::span<float const> x, std::size_t label, std::span<float> p) {
  auto const largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    p[c] = std::exp(x[c] - largest);
    sum += static_cast<double>(p[c]);
  }
  auto const inverse = static_cast<float>(1.0 / sum);
  for (auto& value : p) value *= inverse;
  return std::log(sum) - (static_cast<double>(x[label]) - static_cast<double>(largest));
}

MUSTER_KERNEL void difference_flat(float const* x, float const* y, float factor, float* dx,
                                   std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dx[i] = factor * (x[i] - y[i]);
}

}  // namespace

std::optional<std::size_t> first_bad_label(std::span<std::int64_t const> labels,
                                           std::size_t classes) {
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (labels[row] < 0 || static_cast<std::uint64_t>(labels[row]) >= classes) return row;
  return std::nullopt;
}

double softmax_cross_entropy_forward(std::span<float const> logits,
                                     std::span<std::int64_t const> labels,
                                     std::span<float> probabilities) {
  MUSTER_ASSERT(logits.size() == probabilities.size(), "spans of a kernel have equal lengths");
  auto const classes = classes_of(logits.size(), labels.size());
  double loss = 0;
  for (std::size_t row = 0; row < labels.size(); ++row)
    loss +=
        softmax_row(logits.subspan(row * classes, classes), static_cast<std::size_t>(labels[row]),
                    probabilities.subspan(row * classes, classes));
  return loss;
}

void softmax_cross_entropy_backward(std::span<float const> probabilities,
                                    std::span<std::int64_t const> labels, float dloss,
                                    std::span<float> dlogits) {
  MUSTER_ASSERT(dlogits.size() == probabilities.size(), "spans of a kernel have equal lengths");
  auto const classes = classes_of(dlogits.size(), labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row)
    for (std::size_t c = 0; c < classes; ++c) {
      auto const target = static_cast<std::size_t>(labels[row]) == c ? 1.0F : 0.0F;
      dlogits[row * classes + c] = dloss * (probabilities[row * classes + c] - target);
    }
}

std::int64_t count_correct(std::span<float const> logits, std::span<std::int64_t const> labels) {
  auto const classes = classes_of(logits.size(), labels.size());
  std::int64_t correct = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    auto const x = logits.subspan(row * classes, classes);
    correct += std::max_element(x.begin(), x.end()) - x.begin() == labels[row] ? 1 : 0;
  }
  return correct;
}

double squared_error_forward(std::span<float const> x, std::span<float const> y) {
  MUSTER_ASSERT(x.size() == y.size(), "spans of a kernel have equal lengths");
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += difference * difference;
  }
  return sum;
}

void squared_error_backward(std::span<float const> x, std::span<float const> y, float dloss,
                            std::span<float> dx) {
  MUSTER_ASSERT(x.size() == y.size() && x.size() == dx.size(),
                "spans of a kernel have equal lengths");
  difference_flat(x.data(), y.data(), 2.0F * dloss, dx.data(), x.size());
}

}  // namespace muster::worker::cpu
