// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/trainer_state.hpp"

#include <catch2/catch.hpp>

#include <limits>

namespace muster::worker {

TEST_CASE("a trainer's state keeps every bit", "[checkpoint]") {
  TrainerState const state{.step = 563,
                           .epoch = 4,
                           .samples = 36000,
                           .seed = 18446744073709551615ULL,
                           .round = 2,
                           .sampler = SamplerState{9000, 7, 4, 1024},
                           .schedule = {{"lr", 0.1 + 0.2}, {"tiny", 5e-324}, {"whole", 3}}};
  auto const text = to_json(state);
  REQUIRE(text);
  auto const parsed = parse_trainer_state(*text, "t");
  REQUIRE(parsed);
  CHECK(*parsed == state);
  CHECK(*parse_trainer_state(*to_json(TrainerState{}), "t") == TrainerState{});
}

TEST_CASE("what JSON cannot hold is refused when it is saved", "[checkpoint]") {
  TrainerState state;
  state.schedule["lr"] = std::numeric_limits<double>::quiet_NaN();
  auto const refused = to_json(state);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("\"lr\"") != std::string::npos);
}

TEST_CASE("missing and wrong fields of trainer.json are named", "[checkpoint]") {
  for (auto const* text :
       {"", "[]", "{}", R"({"step":-1,"epoch":0,"samples":0,"seed":0,"round":0,"schedule":{}})",
        R"({"step":1,"epoch":0,"samples":0,"seed":0,"round":0})",
        R"({"step":1,"epoch":0,"samples":0,"seed":0,"round":0,"schedule":{"lr":"x"}})",
        R"({"step":1,"epoch":0,"samples":0,"seed":0,"round":0,"schedule":{},"sampler":3})",
        R"({"step":1,"epoch":0,"samples":0,"seed":0,"round":0,"schedule":{},"sampler":{}})"}) {
    auto const parsed = parse_trainer_state(text, "t.json");
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().what.starts_with("t.json: "));
  }
}

}  // namespace muster::worker
