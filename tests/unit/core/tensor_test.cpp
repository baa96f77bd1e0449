// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/tensor.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

namespace muster::worker {
namespace {

TEST_CASE("storage is aligned to 64 bytes and zeroed", "[core]") {
  auto const bytes = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{4096});
  auto const storage = Storage::make(bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(storage->data()) % 64 == 0);
  for (std::size_t i = 0; i < bytes; ++i) REQUIRE(storage->data()[i] == std::byte{0});
}

TEST_CASE("a copy and a flat view share bytes, a clone does not", "[core]") {
  std::vector<float> const values{1, 2, 3, 4, 5, 6};
  auto const tensor = Tensor::of<float>({2, 3}, values);
  auto const copy = tensor;
  auto const view = tensor.flat(2, 3);
  auto const clone = tensor.clone();
  tensor.as<float>()[2] = 30;
  CHECK(copy.as<float>()[2] == 30);
  CHECK(view.as<float>()[0] == 30);
  CHECK(view.shape == Shape{3});
  CHECK(clone.as<float>()[2] == 3);
  CHECK(clone.shape == tensor.shape);
}

TEST_CASE("a view of a view counts elements from its own start", "[core]") {
  std::vector<std::int64_t> const values{0, 1, 2, 3, 4, 5, 6, 7};
  auto const inner = Tensor::of<std::int64_t>({8}, values).flat(2, 5).flat(1, 2);
  CHECK(inner.as<std::int64_t>()[0] == 3);
  CHECK(inner.as<std::int64_t>()[1] == 4);
}

TEST_CASE("a shape says its sizes", "[core]") {
  CHECK(to_string(Shape{64, 784}) == "[64, 784]");
  CHECK(to_string(Shape{}) == "[]");
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{3, 0, 2}.elements() == 0);
}

TEST_CASE("a default tensor holds nothing", "[core]") {
  Tensor const tensor;
  CHECK(tensor.empty());
  CHECK(tensor.data() == nullptr);
}

}  // namespace
}  // namespace muster::worker
