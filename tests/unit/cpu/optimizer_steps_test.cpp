// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/optimizer_steps.hpp"

#include "tests/support/random_floats.hpp"
#include "worker_runtime/cpu/compute_threads.hpp"
#include "worker_runtime/cpu/reference.hpp"

#include <catch2/catch.hpp>

namespace muster::worker::cpu {
namespace {

using test::random_floats;
using test::same_bits;

constexpr std::size_t kCount = 1003;

TEST_CASE("SGD agrees with its obvious version over 20 steps", "[cpu]") {
  SgdStep const step =
      GENERATE(SgdStep{.lr = 0.1}, SgdStep{.lr = 0.1, .weight_decay = 0.01},
               SgdStep{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01},
               SgdStep{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  auto value = random_floats(kCount, 1);
  std::vector<float> buffer(kCount);
  std::vector<double> value_reference(value.begin(), value.end()), buffer_reference(kCount);
  for (std::uint64_t s = 0; s < 20; ++s) {
    auto const grad = random_floats(kCount, 100 + s);
    sgd_step(step, value, grad, step.momentum == 0 ? std::span<float>{} : buffer);
    for (std::size_t i = 0; i < kCount; ++i)
      value_reference[i] = reference::sgd(step, value_reference[i], static_cast<double>(grad[i]),
                                          buffer_reference[i]);
  }
  for (std::size_t i = 0; i < kCount; ++i)
    REQUIRE(static_cast<double>(value[i]) == Approx(value_reference[i]).margin(2e-6));
}

TEST_CASE("Adam and AdamW agree with their obvious version over 20 steps", "[cpu]") {
  AdamStep step = GENERATE(AdamStep{.lr = 1e-2}, AdamStep{.lr = 1e-2, .weight_decay = 0.1},
                           AdamStep{.lr = 1e-2, .weight_decay = 0.1, .decoupled = false});
  auto value = random_floats(kCount, 1);
  std::vector<float> m(kCount), v(kCount);
  std::vector<double> value_reference(value.begin(), value.end()), m_reference(kCount),
      v_reference(kCount);
  for (std::uint64_t s = 0; s < 20; ++s) {
    auto const grad = random_floats(kCount, 100 + s);
    step.step = s + 1;
    adam_step(step, value, grad, m, v);
    for (std::size_t i = 0; i < kCount; ++i)
      value_reference[i] = reference::adam(step, value_reference[i], static_cast<double>(grad[i]),
                                           m_reference[i], v_reference[i]);
  }
  for (std::size_t i = 0; i < kCount; ++i)
    REQUIRE(static_cast<double>(value[i]) == Approx(value_reference[i]).margin(2e-6));
}

TEST_CASE("an optimizer's update has the same bits in any shard, on any number of threads",
          "[cpu]") {
  constexpr std::size_t kMany = 200000;  // several blocks
  auto const grad = random_floats(kMany, 2), start = random_floats(kMany, 3);
  AdamStep const step{.lr = 1e-2, .weight_decay = 0.1, .step = 3};
  auto whole = start, m = random_floats(kMany, 4);
  std::vector<float> v(kMany, 0.5F);
  auto const m_start = m, v_start = v;
  adam_step(step, whole, grad, m, v);
  set_compute_threads(2);
  auto parts = start, m_parts = m_start, v_parts = v_start;
  for (std::size_t begin = 0, count = 1; begin < kMany; begin += count, count = count * 3 + 1) {
    count = std::min(count, kMany - begin);
    adam_step(step, std::span(parts).subspan(begin, count), std::span(grad).subspan(begin, count),
              std::span(m_parts).subspan(begin, count), std::span(v_parts).subspan(begin, count));
  }
  set_compute_threads(1);
  CHECK(same_bits(parts, whole));
  CHECK(same_bits(m_parts, m));
  CHECK(same_bits(v_parts, v));
}

}  // namespace
}  // namespace muster::worker::cpu
