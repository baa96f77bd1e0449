// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/fresh_id.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {

TEST_CASE("a fresh run id is a random UUID", "[environment]") {
  auto const id = fresh_run_id();
  REQUIRE(id.size() == 36);
  CHECK(id[8] == '-');
  CHECK(id[13] == '-');
  CHECK(id[14] == '4');
  CHECK(std::string("89ab").find(id[19]) != std::string::npos);
  CHECK(id.find_first_not_of("0123456789abcdef-") == std::string::npos);
  CHECK(id != fresh_run_id());
}

}  // namespace muster::launch
