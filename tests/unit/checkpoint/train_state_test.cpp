// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/train_state.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {

TEST_CASE("the fingerprint tells names, types and shapes, not values or order", "[checkpoint]") {
  auto const a = NamedTensor{"a", Tensor::zeros(Shape{2})};
  auto const b = NamedTensor{"b", Tensor::zeros(Shape{2})};
  auto const print = [](std::vector<NamedTensor> const& tensors) {
    return fingerprint_of(tensors);
  };
  CHECK(print({a, b}) == print({b, a}));
  CHECK(print({a, b}) != print({a}));
  CHECK(print({a}) != print({b}));
  CHECK(print({a}) != print({{"a", Tensor::zeros(Shape{3})}}));
  CHECK(print({a}) != print({{"a", Tensor::zeros(Shape{2}, DType::f64)}}));
  a.tensor.as<float>()[0] = 1.0F;
  CHECK(print({a}) == print({{"a", Tensor::zeros(Shape{2})}}));
}

TEST_CASE("parameters are named as they are", "[checkpoint]") {
  Param weight({.name = "0.weight", .shape = Shape{2}});
  weight.bind_value(Tensor::zeros(Shape{2}));
  std::vector<Param*> const params{&weight};
  auto const named = named_values(params);
  REQUIRE(named.size() == 1);
  CHECK(named[0].name == "0.weight");
  CHECK(named[0].tensor.storage == weight.value().storage);
}

TEST_CASE("optimizer state is named for its parameter and takes its shape", "[checkpoint]") {
  Param weight({.name = "0.weight", .shape = Shape{2, 3}});
  std::vector<StateView> const states{{&weight, "exp_avg", 0, 6, Tensor::zeros(Shape{6})}};
  auto const named = named_states(states);
  REQUIRE(named.size() == 1);
  CHECK(named[0].name == "0.weight.exp_avg");
  CHECK(named[0].tensor.shape == Shape{2, 3});
  CHECK(named[0].tensor.storage == states[0].value.storage);
}

}  // namespace muster::worker
