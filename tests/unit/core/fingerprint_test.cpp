// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/fingerprint.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {

TEST_CASE("a fingerprint is FNV-1a's, and sized texts do not run together", "[core]") {
  Fingerprint plain;
  plain.add("foobar");
  CHECK(plain.value() == 0x85944171f73967e8ULL);
  CHECK(plain.hex() == "85944171f73967e8");
  Fingerprint left, right;
  left.add_sized("ab");
  left.add_sized("c");
  right.add_sized("a");
  right.add_sized("bc");
  CHECK(left.value() != right.value());
}

TEST_CASE("a tensor's fingerprint is that of its bytes", "[core]") {
  auto const tensor = Tensor::zeros(Shape{3});
  Fingerprint zero, one;
  zero.add(tensor);
  tensor.as<float>()[2] = 1.0F;
  one.add(tensor);
  CHECK(zero.value() != one.value());
  Fingerprint part;
  part.add(tensor.flat(0, 0));
  CHECK(part.value() == Fingerprint().value());
}

TEST_CASE("a parameter is described by what ranks must share", "[core]") {
  CHECK(describe({.name = "0.weight", .shape = Shape{4, 2}}) == "0.weight: F32 [4, 2], trainable");
  CHECK(describe({.name = "b", .shape = Shape{}, .trainable = false}) == "b: F32 [], frozen");
}

}  // namespace muster::worker
