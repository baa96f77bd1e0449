// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/activation.hpp"

#include "rendezvous/base/assert.hpp"
#include "worker_runtime/cpu/clones.hpp"

#include <cmath>
#include <cstddef>

namespace muster::worker::cpu {
namespace {

constexpr float kSqrtHalf = 0.70710678118654752F;
constexpr float kInvSqrt2Pi = 0.39894228040143268F;
constexpr float kSqrt2OverPi = 0.79788456080286536F;
constexpr float kCubic = 0.044715F;

MUSTER_KERNEL void relu_flat(float const* x, float* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] < 0.0F ? 0.0F : x[i];
}

MUSTER_KERNEL void relu_gradient_flat(float const* y, float const* dy, float* dx,
                                      std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dx[i] = y[i] <= 0.0F ? 0.0F : dy[i];
}

float normal_cdf(float x) {
  return 0.5F * (1.0F + std::erf(x * kSqrtHalf));
}

float tanh_inner(float x) {
  return std::tanh(kSqrt2OverPi * (x + kCubic * x * x * x));
}

void check(std::size_t a, std::size_t b) {
  MUSTER_ASSERT(a == b, "spans of a kernel have equal lengths");
}

}  // namespace

void relu_forward(std::span<float const> x, std::span<float> y) {
  check(x.size(), y.size());
  relu_flat(x.data(), y.data(), x.size());
}

void relu_backward(std::span<float const> y, std::span<float const> dy, std::span<float> dx) {
  check(y.size(), dy.size());
  check(y.size(), dx.size());
  relu_gradient_flat(y.data(), dy.data(), dx.data(), y.size());
}

void gelu_forward(std::span<float const> x, std::span<float> y) {
  check(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * normal_cdf(x[i]);
}

void gelu_backward(std::span<float const> x, std::span<float const> dy, std::span<float> dx) {
  check(x.size(), dy.size());
  check(x.size(), dx.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const density = kInvSqrt2Pi * std::exp(-0.5F * x[i] * x[i]);
    dx[i] = dy[i] * (normal_cdf(x[i]) + x[i] * density);
  }
}

void gelu_tanh_forward(std::span<float const> x, std::span<float> y) {
  check(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 0.5F * x[i] * (1.0F + tanh_inner(x[i]));
}

void gelu_tanh_backward(std::span<float const> x, std::span<float const> dy, std::span<float> dx) {
  check(x.size(), dy.size());
  check(x.size(), dx.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const t = tanh_inner(x[i]);
    auto const slope = kSqrt2OverPi * (1.0F + 3.0F * kCubic * x[i] * x[i]);
    dx[i] = dy[i] * (0.5F * (1.0F + t) + 0.5F * x[i] * (1.0F - t * t) * slope);
  }
}

}  // namespace muster::worker::cpu
