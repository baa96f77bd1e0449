// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/loss.hpp"

#include "tests/support/random_floats.hpp"
#include "worker_runtime/cpu/reference.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

namespace muster::worker::cpu {
namespace {

using test::random_floats;

std::vector<std::int64_t> labels_for(std::size_t rows, std::size_t classes) {
  std::vector<std::int64_t> labels(rows);
  for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<std::int64_t>(i * 7 % classes);
  return labels;
}

TEST_CASE("softmax cross-entropy agrees with its obvious version, large logits included", "[cpu]") {
  auto const scale = GENERATE(1.0F, 30.0F, 2000.0F);
  auto const logits = random_floats(64 * 10, 1, scale);
  auto const labels = labels_for(64, 10);
  std::vector<float> softmax(logits.size());
  auto const loss = softmax_cross_entropy_forward(logits, labels, softmax);
  CHECK(loss == Approx(reference::softmax_cross_entropy(logits, labels)).epsilon(1e-6));
  for (std::size_t row = 0; row < 64; ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < 10; ++c) sum += static_cast<double>(softmax[row * 10 + c]);
    CHECK(sum == Approx(1.0).epsilon(1e-6));
  }
}

TEST_CASE("softmax cross-entropy's backward is the slope of its obvious version", "[cpu]") {
  auto logits = random_floats(5 * 4, 2, 2);
  auto const labels = labels_for(5, 4);
  std::vector<float> softmax(logits.size()), gradient(logits.size());
  softmax_cross_entropy_forward(logits, labels, softmax);
  softmax_cross_entropy_backward(softmax, labels, 0.5F, gradient);
  constexpr float kStep = 1e-2F;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    auto const kept = logits[i];
    logits[i] = kept + kStep;
    auto const up = logits[i];
    auto const above = reference::softmax_cross_entropy(logits, labels);
    logits[i] = kept - kStep;
    auto const down = logits[i];
    auto const below = reference::softmax_cross_entropy(logits, labels);
    logits[i] = kept;
    auto const slope = (above - below) / (static_cast<double>(up) - static_cast<double>(down));
    CHECK(static_cast<double>(gradient[i]) == Approx(0.5 * slope).margin(1e-5));
  }
}

TEST_CASE("softmax cross-entropy's backward may write over the softmax", "[cpu]") {
  auto const logits = random_floats(8 * 3, 3);
  auto const labels = labels_for(8, 3);
  std::vector<float> softmax(logits.size()), apart(logits.size());
  softmax_cross_entropy_forward(logits, labels, softmax);
  softmax_cross_entropy_backward(softmax, labels, 1.0F, apart);
  softmax_cross_entropy_backward(softmax, labels, 1.0F, softmax);
  CHECK(test::same_bits(softmax, apart));
}

TEST_CASE("a NaN logit makes the loss NaN, wherever it stands", "[cpu]") {
  auto const at = static_cast<std::size_t>(GENERATE(0, 1, 2));
  std::vector<float> logits{1, 2, 3};
  logits[at] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> softmax(3);
  std::vector<std::int64_t> const labels{1};
  CHECK(std::isnan(softmax_cross_entropy_forward(logits, labels, softmax)));
}

TEST_CASE("a label outside the classes is found", "[cpu]") {
  std::vector<std::int64_t> const good{0, 9, 5}, high{0, 10}, negative{-1};
  CHECK_FALSE(first_bad_label(good, 10));
  CHECK(first_bad_label(high, 10) == 1U);
  CHECK(first_bad_label(negative, 10) == 0U);
}

TEST_CASE("count_correct counts rows whose largest logit is at the label", "[cpu]") {
  std::vector<float> const logits{1, 3, 2, /**/ 5, 5, 0, /**/ -1, -2, -3};
  std::vector<std::int64_t> const labels{1, 0, 2};
  CHECK(count_correct(logits, labels) == 2);
  CHECK(count_correct({}, {}) == 0);
}

TEST_CASE("squared error and its slope agree with the obvious version", "[cpu]") {
  auto const x = random_floats(1003, 4, 3), y = random_floats(1003, 5, 3);
  CHECK(squared_error_forward(x, y) == Approx(reference::squared_error(x, y)).epsilon(1e-12));
  std::vector<float> dx(x.size());
  squared_error_backward(x, y, 0.25F, dx);
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(dx[i] == 0.5F * (x[i] - y[i]));
}

}  // namespace
}  // namespace muster::worker::cpu
