// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/clip.hpp"

#include "tests/support/golden.hpp"
#include "tests/support/random_floats.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <limits>
#include <memory>

namespace muster::worker {
namespace {

struct Two {
  Two() {
    for (auto* const param : {&a, &b}) param->bind_value(Tensor::zeros(param->spec().shape));
    parallel = Parallel::none({&a, &b});
    parallel->begin({});
    fill(a, 7);
    fill(b, 8);
  }
  static void fill(Param& param, std::uint64_t seed) {
    auto const values =
        test::random_floats(static_cast<std::size_t>(param.spec().shape.elements()), seed);
    std::memcpy(param.grad().data(), values.data(), param.grad().bytes());
  }
  Param a{{.name = "a", .shape = {257}}}, b{{.name = "b", .shape = {31}}};
  std::unique_ptr<Parallel> parallel;
};

TEST_CASE("clipping equals torch's clip_grad_norm_", "[optim]") {
  auto const expected = test::golden("training.json")["clip_grad_norm"];
  Two two;
  REQUIRE(two.parallel->finish());
  auto const norm = clip_grad_norm(*two.parallel, 1.5);
  REQUIRE(norm);
  CHECK(*norm == Approx(expected["norm"].get<double>()).epsilon(1e-6));
  test::check_close(two.a.grad().as<float>(), expected["gradients"][0], 1e-6);
  test::check_close(two.b.grad().as<float>(), expected["gradients"][1], 1e-6);
}

TEST_CASE("a norm below the limit leaves every bit", "[optim]") {
  Two two;
  REQUIRE(two.parallel->finish());
  auto const before = two.a.grad().clone();
  REQUIRE(clip_grad_norm(*two.parallel, 1e6));
  CHECK(test::same_bits(before.as<float>(), two.a.grad().as<float>()));
}

TEST_CASE("clipping before the gradients are final is refused", "[optim]") {
  Two two;
  auto const refused = clip_grad_norm(*two.parallel, 1.0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::bad_input);
}

TEST_CASE("a norm that is not finite is an error", "[optim]") {
  Two two;
  REQUIRE(two.parallel->finish());
  two.b.grad().as<float>()[0] = std::numeric_limits<float>::infinity();
  auto const refused = clip_grad_norm(*two.parallel, 1.0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::non_finite);
}

}  // namespace
}  // namespace muster::worker
