// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/env_view.hpp"

#include <catch2/catch.hpp>

namespace muster {

TEST_CASE("need names the variable that is missing or not a number", "[base]") {
  EnvView const env({{"RANK", "3"}, {"EMPTY", ""}, {"WORLD_SIZE", "four"}});
  CHECK(env.need_int("RANK").value() == 3);
  CHECK(env.need("EMPTY").error().what.find("EMPTY") != std::string::npos);
  CHECK(env.need_int("WORLD_SIZE").error().what.find("'four'") != std::string::npos);
}

TEST_CASE("parse_int takes whole decimal integers only", "[base]") {
  CHECK(parse_int("12") == 12);
  CHECK(parse_int("-3") == -3);
  CHECK_FALSE(parse_int(""));
  CHECK_FALSE(parse_int("1 "));
  CHECK_FALSE(parse_int("+1"));
  CHECK_FALSE(parse_int("0x10"));
  CHECK_FALSE(parse_int("99999999999999999999"));
}

}  // namespace muster
