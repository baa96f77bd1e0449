// SPDX-License-Identifier: Apache-2.0
#pragma once
// Losses as pure forward/backward pairs. They are sums over the batch, added in double from the
// first row to the last: division is Parallel's, by the window's global weight.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace muster::worker::cpu {

// The first row whose label is not in [0, classes).
std::optional<std::size_t> first_bad_label(std::span<std::int64_t const> labels,
                                           std::size_t classes);

// logits and probabilities: [labels.size(), classes]; labels are good. Fills the softmax that
// backward needs and returns the sum of -log(softmax at the label).
double softmax_cross_entropy_forward(std::span<float const> logits,
                                     std::span<std::int64_t const> labels,
                                     std::span<float> probabilities);
// dlogits = dloss * (probabilities - one_hot(labels)); may be the span of the probabilities.
void softmax_cross_entropy_backward(std::span<float const> probabilities,
                                    std::span<std::int64_t const> labels, float dloss,
                                    std::span<float> dlogits);

// Rows whose largest logit (the first of equals) is at the label.
std::int64_t count_correct(std::span<float const> logits, std::span<std::int64_t const> labels);

// Sum over all elements of (x - y)^2.
double squared_error_forward(std::span<float const> x, std::span<float const> y);
// dx = 2 * dloss * (x - y)
void squared_error_backward(std::span<float const> x, std::span<float const> y, float dloss,
                            std::span<float> dx);

}  // namespace muster::worker::cpu
