// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/tail_ring.hpp"

#include <catch2/catch.hpp>

using namespace muster::launch;

TEST_CASE("the last lines are kept, without their endings", "[logs]") {
  TailRing ring;
  for (std::size_t i = 0; i < TailRing::kLines + 5; ++i) ring.add(std::to_string(i) + "\r\n");
  auto const lines = ring.lines();
  REQUIRE(lines.size() == TailRing::kLines);
  CHECK(lines.front() == "5");
  CHECK(lines.back() == std::to_string(TailRing::kLines + 4));
}

TEST_CASE("a progress bar counts as one line", "[logs]") {
  TailRing ring;
  ring.add("before\n");
  for (int i = 0; i < 100; ++i) ring.add(std::to_string(i) + "%\r");
  CHECK(ring.lines() == std::vector<std::string>{"before", "99%"});
  ring.add("done\n");
  CHECK(ring.lines() == std::vector<std::string>{"before", "done"});
}

TEST_CASE("a long line is cut", "[logs]") {
  TailRing ring;
  ring.add(std::string(10 * TailRing::kLongest, 'x'));
  CHECK(ring.lines()[0].size() == TailRing::kLongest);
}
