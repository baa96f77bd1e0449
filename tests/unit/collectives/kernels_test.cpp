// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/collectives/kernels.hpp"

#include "rendezvous/base/random.hpp"
#include "worker_runtime/collectives/reduction_order.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>

using namespace muster;
using namespace muster::worker;

namespace {

std::vector<float> random_floats(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (auto& value : values)
    value = static_cast<float>(std::ldexp(random.unit() - 0.5, int(random.below(24))));
  return values;
}

template <class T>
std::byte* bytes(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

TEST_CASE("any number of parties is reduced in tree order, bit for bit, at any length") {
  Random random(7);
  for (int parties = 1; parties <= 17; ++parties)
    for (std::size_t const count : {0u, 1u, 15u, 2'048u, 5'001u}) {
      std::vector<std::vector<float>> inputs;
      for (int i = 0; i < parties; ++i) inputs.push_back(random_floats(count, random));
      std::vector<float> expected(count), out(count);
      for (std::size_t i = 0; i < count; ++i)
        expected[i] = tree_fold(
            0, parties, [&](int p) { return inputs[static_cast<std::size_t>(p)][i]; },
            [](float a, float b) { return a + b; });
      std::vector<std::byte const*> pointers;
      for (auto& input : inputs) pointers.push_back(bytes(input));
      TreeReducer reducer;
      reducer.reduce(ReduceOp::sum, DType::f32, bytes(out), pointers, count);
      INFO("parties " << parties << " count " << count);
      CHECK(same_bits(out, expected));
      // In place over any of the parties.
      auto& own = inputs[static_cast<std::size_t>(parties / 2)];
      reducer.reduce(ReduceOp::sum, DType::f32, bytes(own), pointers, count);
      CHECK(same_bits(own, expected));
    }
}

TEST_CASE("an element's bits do not depend on its offset") {
  Random random(11);
  auto left = random_floats(1'003, random), right = random_floats(1'003, random);
  std::vector<float> whole(1'003), pieces(1'003);
  combine(ReduceOp::sum, DType::f32, bytes(whole), bytes(left), bytes(right), 1'003);
  for (std::size_t at = 0; at < 1'003;) {
    auto const here = std::min<std::size_t>(1 + random.below(37), 1'003 - at);
    combine(ReduceOp::sum, DType::f32, bytes(pieces) + 4 * at, bytes(left) + 4 * at,
            bytes(right) + 4 * at, here);
    at += here;
  }
  CHECK(same_bits(whole, pieces));
}

TEST_CASE("min and max are NaN where an operand is") {
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> left{1, nan, 3, -0.5}, right{2, 2, nan, -1}, out(4);
  combine(ReduceOp::min, DType::f64, bytes(out), bytes(left), bytes(right), 4);
  CHECK(out[0] == 1);
  CHECK(std::isnan(out[1]));
  CHECK(std::isnan(out[2]));
  CHECK(out[3] == -1);
  combine(ReduceOp::max, DType::f64, bytes(out), bytes(left), bytes(right), 4);
  CHECK(out[0] == 2);
  CHECK(std::isnan(out[1]));
  CHECK(std::isnan(out[2]));
  CHECK(out[3] == -0.5);
}

TEST_CASE("sums of integers wrap") {
  std::vector<std::int32_t> left{std::numeric_limits<std::int32_t>::max(), 5}, right{1, -7}, out(2);
  combine(ReduceOp::sum, DType::i32, bytes(out), bytes(left), bytes(right), 2);
  CHECK(out == std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), -2});
  std::vector<std::int64_t> a{1LL << 40}, b{1}, c(1);
  combine(ReduceOp::max, DType::i64, bytes(c), bytes(a), bytes(b), 1);
  CHECK(c[0] == 1LL << 40);
}

TEST_CASE("a factor is applied in double and rounded once") {
  std::vector<float> values{3.0F, 1e-3F, -7.25F};
  auto expected = values;
  for (auto& value : expected) value = static_cast<float>(static_cast<double>(value) * (1.0 / 3));
  scale(DType::f32, bytes(values), 1.0 / 3, values.size());
  CHECK(same_bits(values, expected));
}

TEST_CASE("the reference over tensors is the tree") {
  std::vector<Tensor> parts;
  for (float const value : {1e8F, 1.0F, -1e8F})
    parts.push_back(Tensor::of<float>(Shape{1}, std::vector<float>{value}));
  CHECK(tree_reduced(parts).as<float>()[0] == (1e8F + 1.0F) + -1e8F);
  CHECK(tree_reduced(parts, ReduceOp::max).as<float>()[0] == 1e8F);
}
