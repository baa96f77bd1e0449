// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/line_prefix.hpp"

#include <catch2/catch.hpp>

using namespace muster::launch;

TEST_CASE("the prefix is role and local rank, without a space", "[logs]") {
  CHECK(line_prefix(std::nullopt, {"default", 2, 10}) == "[default2]:");
}

TEST_CASE("a template replaces the whole prefix", "[logs]") {
  LineSource const source{"trainer", 2, 10};
  CHECK(line_prefix("${role_name}-${rank}/$local_rank> ", source) == "trainer-10/2> ");
  CHECK(line_prefix("", source).empty());
  CHECK(line_prefix("$$ $rank$", source) == "$ 10$");
  CHECK(line_prefix("${unknown} $unknown ${rank ${}", source) == "${unknown} $unknown ${rank ${}");
}
