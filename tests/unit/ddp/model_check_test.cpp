// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/ddp/model_check.hpp"

#include "tests/support/ranks.hpp"

#include <catch2/catch.hpp>

#include <deque>

namespace muster::worker {
namespace {

// The outcome of each of three ranks, whose models `specs` gives by rank.
template <class Specs>
std::vector<Result<void>> check(Specs specs) {
  return test::on_ranks(3, [&](Session& session) {
    std::deque<Param> params;
    std::vector<Param*> pointers;
    for (auto const& spec : specs(session.rank())) pointers.push_back(&params.emplace_back(spec));
    return check_same_model(session.world(), pointers);
  });
}

using Specs = std::vector<ParamSpec>;
ParamSpec const kWeight{.name = "0.weight", .shape = Shape{4, 2}};
ParamSpec const kBias{.name = "0.bias", .shape = Shape{4}};

std::string refusal(std::vector<Result<void>> const& outcomes) {
  for (auto const& outcome : outcomes) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == Errc::mismatch);
    CHECK(outcome.error() == outcomes[0].error());
  }
  return outcomes[0].error().what;
}

}  // namespace

TEST_CASE("equal models pass on every rank", "[ddp]") {
  for (auto const& outcome : check([](int) { return Specs{kWeight, kBias}; })) CHECK(outcome);
}

TEST_CASE("a differing model is named by rank and parameter, on all ranks alike", "[ddp]") {
  auto const odd = [](Specs const& specs) {
    return refusal(check([&](int rank) { return rank == 1 ? specs : Specs{kWeight, kBias}; }));
  };
  CHECK(odd({kWeight, {.name = "0.bias", .shape = Shape{5}}}) ==
        "rank 1: the models differ: parameter 1 is \"0.bias: F32 [5], trainable\", rank 0's is "
        "\"0.bias: F32 [4], trainable\" (2 and 2 parameters)");
  CHECK(odd({kWeight}).find("parameter 1 is missing") != std::string::npos);
  CHECK(odd({kWeight, kBias, kBias}).find("rank 0's is missing (3 and 2") != std::string::npos);
  CHECK(odd({kBias, kWeight}).find("parameter 0 is \"0.bias") != std::string::npos);
  auto frozen = kBias;
  frozen.trainable = false;
  CHECK(odd({kWeight, frozen}).find("frozen") != std::string::npos);
}

TEST_CASE("values that drifted apart are named by rank and parameter", "[ddp]") {
  auto const check = [](int odd_rank) {
    return test::on_ranks(3, [&](Session& session) {
      Param weight(kWeight), bias(kBias);
      std::vector<Param*> const params{&weight, &bias};
      for (auto* const param : params) param->bind_value(Tensor::zeros(param->spec().shape));
      if (session.rank() == odd_rank) bias.value().as<float>()[3] = 1e-30F;
      return check_same_values(session.world(), params);
    });
  };
  for (auto const& outcome : check(-1)) CHECK(outcome);
  for (auto const& outcome : check(2)) {
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().what == "rank 2 has other values in 0.bias than rank 0");
  }
}

}  // namespace muster::worker
