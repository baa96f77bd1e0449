// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/linear.hpp"

#include "tests/support/golden.hpp"
#include "tests/support/mlp.hpp"
#include "tests/support/slopes.hpp"
#include "worker_runtime/nn/functions.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

using test::random_tensor;

TEST_CASE("a linear layer declares torch's names, shapes, bounds and decay", "[nn]") {
  Linear layer(16, 3);
  auto const params = layer.parameters();
  REQUIRE(params.size() == 2);
  CHECK(params[0]->spec().name == "weight");
  CHECK(params[0]->spec().shape == Shape{3, 16});
  CHECK(params[0]->spec().init.low == -0.25F);
  CHECK(params[0]->spec().init.high == 0.25F);
  CHECK(params[0]->spec().decay);
  CHECK(params[1]->spec().name == "bias");
  CHECK(params[1]->spec().shape == Shape{3});
  CHECK(params[1]->spec().init.high == 0.25F);
  CHECK_FALSE(params[1]->spec().decay);
  CHECK(Linear(16, 3, false).parameters().size() == 1);
}

TEST_CASE("a linear layer's gradients are the slopes of its loss", "[nn]") {
  Linear layer(7, 5);
  materialize(layer, 1);
  auto const parallel = Parallel::none(layer.parameters());
  auto const x = random_tensor({2, 3, 7}, 2), target = random_tensor({2, 3, 5}, 3);
  auto const loss = [&] {
    Tape tape({.record = false}, *parallel);
    auto const out = squared_error(tape, layer(tape, tape.input(x)), target);
    return static_cast<double>(tape.value(out).as<float>()[0]);
  };
  parallel->begin({});
  Tape tape({}, *parallel);
  auto const in = tape.input(x, true);
  REQUIRE(tape.backward(squared_error(tape, layer(tape, in), target)));
  test::check_slopes(layer.weight().value(), layer.weight().grad(), loss, 2e-3);
  test::check_slopes(layer.bias()->value(), layer.bias()->grad(), loss, 2e-3);
  test::check_slopes(x, tape.grad(in), loss, 2e-3);
}

TEST_CASE("a second backward adds to the gradients of the first", "[nn]") {
  Linear layer(7, 5);
  materialize(layer, 1);
  auto const parallel = Parallel::none(layer.parameters());
  auto const x = random_tensor({4, 7}, 2), target = random_tensor({4, 5}, 3);
  auto const backward = [&] {
    parallel->begin({.sync = false});
    Tape tape({}, *parallel);
    REQUIRE(tape.backward(squared_error(tape, layer(tape, tape.input(x)), target)));
  };
  backward();
  auto const once = layer.weight().grad().clone(), bias_once = layer.bias()->grad().clone();
  backward();
  for (std::size_t i = 0; i < 35; ++i)
    CHECK(layer.weight().grad().as<float>()[i] == Approx(2.0F * once.as<float>()[i]));
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(layer.bias()->grad().as<float>()[i] == 2.0F * bias_once.as<float>()[i]);
}

TEST_CASE("a layer tied to another's weight adds its gradient there", "[nn]") {
  Linear owner(6, 6, false);
  Linear tied(owner.weight());
  CHECK(tied.parameters().empty());
  materialize(owner, 1);
  auto const parallel = Parallel::none(owner.parameters());
  auto const x = random_tensor({3, 6}, 2), target = random_tensor({3, 6}, 3);
  auto const forward = [&](Tape& tape) {
    return squared_error(tape, tied(tape, owner(tape, tape.input(x))), target);
  };
  auto const loss = [&] {
    Tape tape({.record = false}, *parallel);
    return static_cast<double>(tape.value(forward(tape)).as<float>()[0]);
  };
  parallel->begin({});
  Tape tape({}, *parallel);
  REQUIRE(tape.backward(forward(tape)));
  test::check_slopes(owner.weight().value(), owner.weight().grad(), loss, 2e-3);
}

TEST_CASE("a frozen weight gets no gradient and still passes one on", "[nn]") {
  Linear first(4, 4), second(4, 2);
  second.weight().set_trainable(false);
  materialize(first, 1);
  materialize(second, 2);
  auto params = first.parameters();
  for (auto* const param : second.parameters()) params.push_back(param);
  auto const parallel = Parallel::none(params);
  parallel->begin({});
  Tape tape({}, *parallel);
  auto const x = random_tensor({3, 4}, 3);
  REQUIRE(tape.backward(
      squared_error(tape, second(tape, first(tape, tape.input(x))), random_tensor({3, 2}, 4))));
  CHECK_FALSE(second.weight().grad().storage);
  CHECK(second.bias()->grad().as<float>()[0] != 0.0F);
  CHECK(first.weight().grad().as<float>()[0] != 0.0F);
}

TEST_CASE("input that does not fit a linear layer is an error that names the layer", "[nn]") {
  Linear layer(784, 10);
  materialize(layer, 1);
  auto const parallel = Parallel::none(layer.parameters());
  Tape tape({}, *parallel);
  auto const x = GENERATE(Tensor::zeros({64, 28}), Tensor::zeros({64, 784}, DType::u8));
  layer(tape, tape.input(x));
  REQUIRE(tape.failed());
  CHECK(tape.status().error().code == Errc::bad_input);
  CHECK(tape.status().error().what.find("weight") != std::string::npos);
  CHECK(tape.status().error().what.find("784") != std::string::npos);
}

TEST_CASE("the MLP 784-256-10 computes what torch computes, forward and backward", "[nn]") {
  auto const expected = test::golden("training.json")["mlp"];
  test::Mlp mlp;
  test::Batch const batch(1);
  auto const parallel = Parallel::none(mlp.net.parameters());
  parallel->begin({});
  Tape tape({}, *parallel);
  auto const logits = mlp.net(tape, tape.input(batch.x));
  test::check_close(tape.value(logits).as<float>(), expected["logits"], 1e-5);
  auto const loss = tape.backward(softmax_cross_entropy(tape, logits, batch.labels));
  REQUIRE(loss);
  CHECK(*loss == Approx(expected["loss"].get<double>()).epsilon(1e-6));
  for (auto const* const param : mlp.net.parameters()) {
    INFO(param->spec().name);
    test::check_close(param->grad().as<float>(), expected["gradients"][param->spec().name], 1e-5,
                      97);
  }
}

}  // namespace
}  // namespace muster::worker
