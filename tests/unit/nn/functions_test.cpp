// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/functions.hpp"

#include "tests/support/golden.hpp"
#include "tests/support/mlp.hpp"
#include "tests/support/slopes.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

using test::random_tensor;

Tensor labels_of(std::vector<std::int64_t> const& labels) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(labels.size())},
                                  std::span<std::int64_t const>(labels));
}

TEST_CASE("cross-entropy's gradient is the slope of its loss", "[nn]") {
  auto const parallel = Parallel::none({});
  auto const x = random_tensor({3, 4}, 1, 2);
  auto const labels = labels_of({3, 0, 1});
  auto const loss = [&] {
    Tape tape({.record = false}, *parallel);
    return static_cast<double>(
        tape.value(softmax_cross_entropy(tape, tape.input(x), labels)).as<float>()[0]);
  };
  Tape tape({}, *parallel);
  auto const in = tape.input(x, true);
  auto const value = tape.backward(softmax_cross_entropy(tape, in, labels));
  REQUIRE(value);
  CHECK(*value == Approx(loss()));
  test::check_slopes(x, tape.grad(in), loss, 2e-3);
}

TEST_CASE("squared error over its number of elements is torch's mse_loss", "[nn]") {
  auto const expected = test::golden("training.json")["mean_squared_error"];
  auto const parallel = Parallel::none({});
  Tape tape({}, *parallel);
  auto const in = tape.input(random_tensor({120}, 4, 3), true);
  auto const loss = tape.backward(squared_error(tape, in, random_tensor({120}, 5, 3)));
  REQUIRE(loss);
  CHECK(*loss / 120 == Approx(expected["loss"].get<double>()).epsilon(1e-6));
  auto gradient = tape.grad(in).clone();
  for (auto& g : gradient.as<float>()) g *= gradient_factor(120);
  test::check_close(gradient.as<float>(), expected["dx"], 1e-6);
}

TEST_CASE("losses refuse what does not fit, and say where", "[nn]") {
  auto const parallel = Parallel::none({});
  Tape tape({}, *parallel);
  auto const x = tape.input(random_tensor({2, 10}, 1), true);
  SECTION("a label that is no class") {
    softmax_cross_entropy(tape, x, labels_of({4, 10}));
    REQUIRE(tape.failed());
    CHECK(tape.status().error().what == "cross-entropy: label 10 in row 1, expected 0 to 9");
  }
  SECTION("too few labels") {
    softmax_cross_entropy(tape, x, labels_of({4}));
    REQUIRE(tape.failed());
  }
  SECTION("labels of another type") {
    softmax_cross_entropy(tape, x, Tensor::zeros({2}));
    REQUIRE(tape.failed());
  }
  SECTION("a target of another shape") {
    squared_error(tape, x, Tensor::zeros({10, 2}));
    REQUIRE(tape.failed());
    CHECK(tape.status().error().what.find("[10, 2]") != std::string::npos);
  }
  SECTION("addition of different shapes") {
    add(tape, x, tape.input(Tensor::zeros({2})));
    REQUIRE(tape.failed());
  }
  CHECK(tape.status().error().code == Errc::bad_input);
  CHECK_FALSE(tape.backward(x));
}

TEST_CASE("a residual adds the gradients of both ways", "[nn]") {
  auto const parallel = Parallel::none({});
  auto const x = random_tensor({6}, 1), target = random_tensor({6}, 2);
  auto const loss = [&] {
    Tape tape({.record = false}, *parallel);
    auto const in = tape.input(x);
    return static_cast<double>(
        tape.value(squared_error(tape, add(tape, in, add(tape, in, in)), target)).as<float>()[0]);
  };
  Tape tape({}, *parallel);
  auto const in = tape.input(x, true);
  REQUIRE(tape.backward(squared_error(tape, add(tape, in, add(tape, in, in)), target)));
  test::check_slopes(x, tape.grad(in), loss, 2e-3);
}

}  // namespace
}  // namespace muster::worker
