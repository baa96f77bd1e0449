// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/activations.hpp"

#include "tests/support/golden.hpp"
#include "tests/support/mlp.hpp"
#include "worker_runtime/nn/functions.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

using test::random_tensor;

// y and the gradient of x for a given gradient of y.
struct Both {
  Tensor y, dx;
};
Both run(Module& layer, Tensor const& x, Tensor const& dy) {
  auto const parallel = Parallel::none({});
  Tape tape({}, *parallel);
  auto const in = tape.input(x, true);
  auto const out = layer(tape, in);
  auto const loss = tape.record({&out, 1}, Tensor::zeros({1}), {},
                                [out, dy](Tape& t, Tensor const&) { t.accumulate(out, dy); });
  auto const y = tape.value(out);
  REQUIRE(tape.backward(loss));
  return {y, tape.grad(in)};
}

TEST_CASE("GELU computes what torch computes in both forms", "[nn]") {
  auto const tanh = GENERATE(false, true);
  auto const expected = test::golden("training.json")[tanh ? "gelu_tanh" : "gelu"];
  GELU layer(tanh ? GELU::Form::tanh : GELU::Form::erf);
  auto const both = run(layer, random_tensor({257}, 2, 6), random_tensor({257}, 3));
  test::check_close(both.y.as<float>(), expected["y"], 1e-6);
  test::check_close(both.dx.as<float>(), expected["dx"], 1e-6);
}

TEST_CASE("ReLU lets through what is above zero, and gradients there", "[nn]") {
  ReLU layer;
  std::vector<float> const x{-2, -0.0F, 0, 3}, dy{5, 6, 7, 8};
  auto const both = run(layer, Tensor::of<float>({2, 2}, x), Tensor::of<float>({2, 2}, dy));
  CHECK(both.y.shape == Shape{2, 2});
  CHECK(both.y.as<float>()[0] == 0.0F);
  CHECK(both.y.as<float>()[3] == 3.0F);
  CHECK(both.dx.as<float>()[0] == 0.0F);
  CHECK(both.dx.as<float>()[2] == 0.0F);
  CHECK(both.dx.as<float>()[3] == 8.0F);
}

}  // namespace
}  // namespace muster::worker
