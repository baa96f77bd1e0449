// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/file_tail.hpp"

#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace muster;
using namespace muster::launch;

TEST_CASE("the last lines of a log are read from its end", "[logs]") {
  test::TempFolder const folder;
  auto const path = folder.path() + "/stderr.log";
  std::ofstream(path) << std::string(200'000, 'x') << "\nlast words\nwithout an ending";
  CHECK(tail_of_file(path) == std::vector<std::string>{"last words", "without an ending"});
}

TEST_CASE("a log that is not there, or empty, has no last lines", "[logs]") {
  test::TempFolder const folder;
  CHECK(tail_of_file(folder.path() + "/missing").empty());
  std::ofstream(folder.path() + "/empty").flush();
  CHECK(tail_of_file(folder.path() + "/empty").empty());
}
