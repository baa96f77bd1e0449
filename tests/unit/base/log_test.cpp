// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/log.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace muster;

TEST_CASE("the names of torchrun's LOGLEVEL are known in either case", "[base]") {
  CHECK(*log::parse_level("WARNING") == log::Level::warning);
  CHECK(*log::parse_level("critical") == log::Level::error);
  CHECK(!log::parse_level("loud"));
}

TEST_CASE("lines go through a writer while there is one", "[base]") {
  std::vector<std::string> lines;
  log::write_through([&](std::string line) { lines.push_back(std::move(line)); });
  log::start("it", log::Level::warning);
  log::info("not shown");
  log::warning("one");
  log::write_through(nullptr);
  CHECK(lines == std::vector<std::string>{"it: one"});
}
