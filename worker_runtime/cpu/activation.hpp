// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activations as pure forward/backward pairs on flat spans; same bits at any offset and length.
// Spans of one call have equal lengths.

#include <span>

namespace muster::worker::cpu {

// y = max(x, 0), NaN stays NaN. Backward needs only the output.
void relu_forward(std::span<float const> x, std::span<float> y);
void relu_backward(std::span<float const> y, std::span<float const> dy, std::span<float> dx);

// y = x * Phi(x), Phi the normal distribution function, by erf: torch's default.
void gelu_forward(std::span<float const> x, std::span<float> y);
void gelu_backward(std::span<float const> x, std::span<float const> dy, std::span<float> dx);

// The tanh approximation of it: torch's approximate="tanh", GPT-2's.
void gelu_tanh_forward(std::span<float const> x, std::span<float> y);
void gelu_tanh_backward(std::span<float const> x, std::span<float const> dy, std::span<float> dx);

}  // namespace muster::worker::cpu
