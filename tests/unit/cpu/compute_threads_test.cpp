// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/compute_threads.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace muster::worker::cpu {
namespace {

struct BackToOne {
  ~BackToOne() { set_compute_threads(1); }
};

TEST_CASE("every task runs exactly once, whatever the number of threads", "[cpu]") {
  BackToOne const back;
  set_compute_threads(GENERATE(1, 2, 3));
  for (auto const count : {0, 1, 2, 3, 17}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
    parallel_for(count, [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
    for (auto const& n : runs) CHECK(n == 1);
  }
}

TEST_CASE("a task's writes are seen when parallel_for returns, round after round", "[cpu]") {
  BackToOne const back;
  set_compute_threads(2);
  std::vector<int> values(8);  // not atomic: TSan watches the hand-over
  for (int round = 0; round < 200; ++round)
    parallel_for(8, [&](int i) { values[static_cast<std::size_t>(i)] += i; });
  CHECK(std::accumulate(values.begin(), values.end(), 0) == 200 * 28);
}

TEST_CASE("the number of threads belongs to the thread that set it", "[cpu]") {
  BackToOne const back;
  set_compute_threads(3);
  int elsewhere = 0;
  std::thread([&] { elsewhere = compute_threads(); }).join();
  CHECK(elsewhere == 1);
  CHECK(compute_threads() == 3);
}

TEST_CASE("two ranks of one process compute at once, each with helpers of its own", "[cpu]") {
  auto const rank = [](std::vector<int>& values) {
    set_compute_threads(2);
    for (int round = 0; round < 100; ++round)
      parallel_for(6, [&](int i) { ++values[static_cast<std::size_t>(i)]; });
  };
  std::vector<int> a(6), b(6);
  std::thread first([&] { rank(a); }), second([&] { rank(b); });
  first.join();
  second.join();
  CHECK(a == std::vector<int>(6, 100));
  CHECK(b == std::vector<int>(6, 100));
}

}  // namespace
}  // namespace muster::worker::cpu
