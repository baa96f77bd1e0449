// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/matmul.hpp"

#include "tests/support/random_floats.hpp"
#include "worker_runtime/cpu/compute_threads.hpp"
#include "worker_runtime/cpu/reference.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <thread>

namespace muster::worker::cpu {
namespace {

using test::random_floats;
using test::same_bits;

struct Operands {
  explicit Operands(Product const& p)
      : a(random_floats(static_cast<std::size_t>(p.m * p.k), 1)),
        b(random_floats(static_cast<std::size_t>(p.k * p.n), 2)),
        c(random_floats(static_cast<std::size_t>(p.m * p.n), 3)) {}
  std::vector<float> a, b, c;
};

// The products of the MLP 784-256-10 at batch 64 and 37, small odd ones, and one that is cut.
Product const kProducts[] = {
    {.m = 64, .n = 256, .k = 784, .transpose_b = true},
    {.m = 37, .n = 256, .k = 784, .transpose_b = true},
    {.m = 256, .n = 784, .k = 64, .transpose_a = true, .accumulate = true},
    {.m = 10, .n = 256, .k = 64, .transpose_a = true, .accumulate = true},
    {.m = 64, .n = 256, .k = 10},
    {.m = 64, .n = 10, .k = 256, .transpose_b = true},
    {.m = 1, .n = 1, .k = 1},
    {.m = 3, .n = 1, .k = 5, .transpose_a = true, .transpose_b = true},
    {.m = 1, .n = 17, .k = 3, .transpose_b = true, .accumulate = true},
    {.m = 129, .n = 330, .k = 200, .transpose_a = true},
    {.m = 64, .n = 1000, .k = 300, .transpose_b = true},
};

TEST_CASE("a product agrees with its obvious version", "[cpu]") {
  auto const& product = kProducts[GENERATE(range(0, 11))];
  INFO(product.m << " x " << product.n << " x " << product.k);
  Operands fast(product);
  auto expected = fast.c;
  REQUIRE(matmul(product, fast.a, fast.b, fast.c));
  reference::matmul(product, fast.a, fast.b, expected);
  auto const bound = 1e-6 * std::sqrt(static_cast<double>(product.k)) * 4;
  for (std::size_t i = 0; i < expected.size(); ++i)
    REQUIRE(static_cast<double>(fast.c[i]) ==
            Approx(static_cast<double>(expected[i])).margin(bound));
}

// The addresses at which handlers of a signal had their frames.
std::atomic<std::uintptr_t> lowest_handler{UINTPTR_MAX}, highest_handler{0};

void note_place(int) {
  // Not the address of a variable: ASan keeps variables elsewhere, to notice their use after the
  // return.
  auto const place = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (place < lowest_handler) lowest_handler = place;
  if (place > highest_handler) highest_handler = place;
}

TEST_CASE("a signal's handler never runs on oneDNN's memory", "[cpu]") {
  struct sigaction action {
  }, before{};
  action.sa_handler = note_place;
  ::sigaction(SIGUSR1, &action, &before);
  Product const product{.m = 97, .n = 256, .k = 784, .transpose_b = true};
  Operands operands(product);
  std::atomic<bool> done{false};
  std::thread pest([&done, target = ::pthread_self()] {
    while (!done) ::pthread_kill(target, SIGUSR1);
  });
  auto failed = 0;
  for (int i = 0; i < 300; ++i)
    if (!matmul(product, operands.a, operands.b, operands.c)) ++failed;
  done = true;
  pest.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  CHECK(failed == 0);
  pthread_attr_t attributes;
  void* stack = nullptr;
  std::size_t size = 0;
  REQUIRE(::pthread_getattr_np(::pthread_self(), &attributes) == 0);
  ::pthread_attr_getstack(&attributes, &stack, &size);
  ::pthread_attr_destroy(&attributes);
  auto const begin = reinterpret_cast<std::uintptr_t>(stack);
  REQUIRE(highest_handler > 0);
  CHECK(lowest_handler >= begin);
  CHECK(highest_handler < begin + size);
}

TEST_CASE("a product has the same bits again, on any number of threads, at any alignment",
          "[cpu]") {
  auto const& product = kProducts[GENERATE(range(0, 11))];
  INFO(product.m << " x " << product.n << " x " << product.k);
  Operands first(product);
  auto const before = first.c;
  REQUIRE(matmul(product, first.a, first.b, first.c));
  for (int const threads : {1, 2, 3}) {
    set_compute_threads(threads);
    for (std::size_t const shift : {0U, 1U, 3U, 8U}) {
      std::vector<float> a(shift), b(shift), c(shift);
      a.insert(a.end(), first.a.begin(), first.a.end());
      b.insert(b.end(), first.b.begin(), first.b.end());
      c.insert(c.end(), before.begin(), before.end());
      REQUIRE(matmul(product, std::span(a).subspan(shift), std::span(b).subspan(shift),
                     std::span(c).subspan(shift)));
      INFO("threads " << threads << ", shift " << shift);
      REQUIRE(same_bits(std::span(c).subspan(shift), first.c));
    }
  }
  set_compute_threads(1);
}

TEST_CASE("an empty product adds nothing and an empty matrix is left alone", "[cpu]") {
  std::vector<float> c{1, 2};
  REQUIRE(matmul({.m = 2, .n = 1, .k = 0, .accumulate = true}, {}, {}, c));
  CHECK(c == std::vector<float>{1, 2});
  REQUIRE(matmul({.m = 2, .n = 1, .k = 0}, {}, {}, c));
  CHECK(c == std::vector<float>{0, 0});
  std::vector<float> const b{1, 2, 3};
  CHECK(matmul({.m = 0, .n = 1, .k = 3}, {}, b, {}));
}

TEST_CASE("primitives are cached by shape, up to a bound", "[cpu]") {
  auto const run = [](std::int64_t m) {
    Product const product{.m = m, .n = 2, .k = 2};
    Operands operands(product);
    REQUIRE(matmul(product, operands.a, operands.b, operands.c));
  };
  run(1);
  auto const before = cached_primitives();
  run(1);
  CHECK(cached_primitives() == before);
  for (std::int64_t m = 1; m <= static_cast<std::int64_t>(kMaxPrimitives) + 5; ++m) run(m);
  CHECK(cached_primitives() == kMaxPrimitives);
  run(1);  // dropped long ago, made again
  CHECK(cached_primitives() == kMaxPrimitives);
}

}  // namespace
}  // namespace muster::worker::cpu
