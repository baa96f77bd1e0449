// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/console_text.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

TEST_CASE("without a prefix the bytes stay as they are", "[logs]") {
  ConsoleText text("");
  std::string out;
  for (auto const* line : {"a\n", "b\r\n", " 10%\r", "no ending"}) text.add(line, TimePoint{}, out);
  text.finish(out);
  CHECK(out == "a\nb\r\n 10%\rno ending");
}

TEST_CASE("each line gets the prefix, and an ending if it has none", "[logs]") {
  ConsoleText text("[default0]:");
  std::string out;
  text.add("a\n", TimePoint{}, out);
  text.add("rest", TimePoint{}, out);
  CHECK(out == "[default0]:a\n[default0]:rest\n");
}

TEST_CASE("a bar is shown once a period, and its last state before the next line", "[logs]") {
  ConsoleText text("0:");
  std::string out;
  TimePoint const start{10s};
  text.add("1%\r", start, out);
  text.add("2%\r", start + 100ms, out);
  text.add("3%\r", start + 200ms, out);
  CHECK(out == "0:1%\n");
  text.add("4%\r", start + kBarPeriod, out);
  text.add("5%\r", start + kBarPeriod + 1ms, out);
  text.add("done\n", start + kBarPeriod + 2ms, out);
  CHECK(out == "0:1%\n0:4%\n0:5%\n0:done\n");
}

TEST_CASE("the last state of a bar is shown at the end of the stream", "[logs]") {
  ConsoleText text("0:");
  std::string out;
  text.add("1%\r", TimePoint{10s}, out);
  text.add("\r", TimePoint{10s}, out);
  text.add("100%\r", TimePoint{10s}, out);
  text.finish(out);
  CHECK(out == "0:1%\n0:100%\n");
}
