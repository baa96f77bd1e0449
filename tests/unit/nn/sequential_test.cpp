// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/nn/sequential.hpp"

#include "tests/support/mlp.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {
namespace {

TEST_CASE("a sequence numbers its layers as torch does", "[nn]") {
  test::Mlp mlp;
  std::vector<std::string> names;
  for (auto const* const param : mlp.net.parameters()) names.push_back(param->spec().name);
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
  CHECK(mlp.net.size() == 3);
}

TEST_CASE("a sequence within a sequence joins the numbers", "[nn]") {
  Sequential outer;
  outer.add<ReLU>();
  outer.add<Sequential>().add<Linear>(2, 2);
  CHECK(outer.parameters()[0]->spec().name == "1.0.weight");
}

TEST_CASE("a forward without recording gives the bits of one that records", "[nn]") {
  test::Mlp mlp;
  test::Batch const batch(1);
  auto const parallel = Parallel::none(mlp.net.parameters());
  Tape recording({}, *parallel), plain({.training = false, .record = false}, *parallel);
  auto const a = recording.value(mlp.net(recording, recording.input(batch.x)));
  auto const b = plain.value(mlp.net(plain, plain.input(batch.x)));
  CHECK(test::same_bits(a.as<float>(), b.as<float>()));
}

}  // namespace
}  // namespace muster::worker
