// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/line_splitter.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace muster::launch;
using namespace std::string_literals;

namespace {

std::vector<std::string> lines_of(std::string const& text, std::size_t step) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  auto const keep = [&](std::string_view line) { lines.emplace_back(line); };
  for (std::size_t at = 0; at < text.size(); at += step)
    splitter.feed(std::string_view(text).substr(at, step), keep);
  splitter.finish(keep);
  return lines;
}

}  // namespace

TEST_CASE("lines are the same however the bytes were cut", "[logs]") {
  auto const text = "one\ntwo\r\n 10%\r 20%\r\n\n\xff\xfe\0bytes\nno ending"s;
  auto const whole = lines_of(text, text.size());
  CHECK(whole == std::vector<std::string>{"one\n", "two\r\n", " 10%\r", " 20%\r\n", "\n",
                                          "\xff\xfe\0bytes\n"s, "no ending"});
  for (std::size_t step = 1; step < text.size(); ++step) CHECK(lines_of(text, step) == whole);
}

TEST_CASE("no byte is lost or added", "[logs]") {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += std::string(static_cast<std::size_t>(i % 97), 'x') + "\n";
  std::string joined;
  for (auto const& line : lines_of(text, 4'096)) joined += line;
  CHECK(joined == text);
}

TEST_CASE("a line without end is passed on in bounded pieces", "[logs]") {
  std::string const text(3 * kLongestLine + 5, 'x');
  auto const lines = lines_of(text, 10'000);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].size() == kLongestLine);
  CHECK(lines[3].size() == 5);
}
