// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/sim/fault_file.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

std::string error_of(std::string_view text, NodeIndex nodes = 3) {
  auto const faults = parse_faults(text, nodes);
  return faults ? "" : to_string(faults.error());
}

bool mentions(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every fault is read as it is written") {
  auto const text =
      "partition h1,h2 | h3\n"
      "oneway h1 > h2,h3\n"
      "heal\n"
      "break h1 h2\n"
      "pause h2 2s\n"
      "freeze h2 1.5s\n"
      "late h3 0.25s\n"
      "power h1\n"
      "kill h3 agent\n"
      "kill h3 both\n"
      "start h2\n"
      "term h1\n"
      "fail h2 7\n"
      "stick h1\n"
      "finish\n";
  std::string timed, rest = text;
  int second = 0;
  std::vector<std::string> lines;
  for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
    lines.push_back(rest.substr(0, end));
    timed += std::to_string(++second) + " " + lines.back() + "\n";
    rest.erase(0, end + 1);
  }
  auto const faults = parse_faults(timed, 3);
  REQUIRE(faults);
  REQUIRE(faults->size() == lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(to_text((*faults)[i].what) == lines[i]);
    CHECK((*faults)[i].at == std::chrono::seconds{i + 1});
  }
}

TEST_CASE("weather says what it says, and the rest is fair") {
  auto const faults = parse_faults("1 weather loss=2.5% delay=20ms breaks=0.1\n", 1);
  REQUIRE(faults);
  auto const& weather = std::get<fault::Weather>(faults->at(0).what);
  CHECK(weather.most_delay == 20ms);
  CHECK(weather.loss == Approx(0.025));
  CHECK(weather.breaks_per_second == Approx(0.1));
}

TEST_CASE("comments, blank lines and any order of times are fine") {
  auto const faults = parse_faults("# a plan\n\n  7.5 heal   # at last\n5 power h2\r\n", 2);
  REQUIRE(faults);
  REQUIRE(faults->size() == 2);
  CHECK((*faults)[0].at == 5s);
  CHECK((*faults)[1].at == 7'500ms);
}

TEST_CASE("an error names its line, what stands there and what should") {
  auto const error = error_of("5 heal\n6 explode h1\n");
  CHECK(mentions(error, "line 2"));
  CHECK(mentions(error, "'explode'"));
  CHECK(mentions(error_of("soon heal"), "not 'soon'"));
  CHECK(mentions(error_of("-1 heal"), "expected seconds"));
  CHECK(mentions(error_of("1e300 heal"), "expected seconds"));
  CHECK(mentions(error_of("5"), "nothing follows the time"));
  CHECK(mentions(error_of("5 power h4"), "no node is called 'h4'"));
  CHECK(mentions(error_of("5 power h4"), "h1 to h3"));
  CHECK(mentions(error_of("5 power 2"), "no node is called '2'"));
  CHECK(mentions(error_of("5 power h0"), "'h0'"));
  CHECK(mentions(error_of("5 power h1 h2"), "takes 1 words, not 2"));
  CHECK(mentions(error_of("5 pause h1 long"), "'long' is no length of time"));
  CHECK(mentions(error_of("5 kill h1 all"), "'agent' or 'both', not 'all'"));
  CHECK(mentions(error_of("5 fail h1 0"), "no exit code of a failure"));
  CHECK(mentions(error_of("5 fail h1 256"), "no exit code of a failure"));
  CHECK(mentions(error_of("5 break h1 h1"), "no link to itself"));
  CHECK(mentions(error_of("5 heal now"), "takes 0 words, not 1"));
}

TEST_CASE("groups are named once and parted by bars") {
  CHECK(error_of("5 partition h1 | h2 | h3").empty());
  CHECK(mentions(error_of("5 partition h1 h2"), "expected '|'"));
  CHECK(mentions(error_of("5 partition h1 |"), "expected '|'"));
  CHECK(mentions(error_of("5 partition"), "no group"));
  CHECK(mentions(error_of("5 partition h1,h2 | h2"), "h2 is in two groups"));
  CHECK(mentions(error_of("5 partition h1,h1 | h2"), "stands twice"));
  CHECK(mentions(error_of("5 partition h1, | h2"), "no node is called ''"));
  CHECK(mentions(error_of("5 oneway h1 h2"), "two groups with '>'"));
  CHECK(mentions(error_of("5 oneway h1 | h2"), "two groups with '>'"));
}

TEST_CASE("weather is refused where it is none") {
  CHECK(mentions(error_of("5 weather"), "no weather is given"));
  CHECK(mentions(error_of("5 weather loss=5"), "'loss=5' says nothing"));
  CHECK(mentions(error_of("5 weather loss=101%"), "says nothing"));
  CHECK(mentions(error_of("5 weather delay"), "no length of time"));
  CHECK(mentions(error_of("5 weather rain=1%"), "'rain=1%'"));
}

TEST_CASE("lengths of time have units, seconds without") {
  CHECK(*parse_duration("250ms") == 250ms);
  CHECK(*parse_duration("2s") == 2s);
  CHECK(*parse_duration("1.5") == 1'500ms);
  for (auto const* wrong : {"", "s", "ms", "2m", "1e9s", "nan", "-1s", "inf"})
    CHECK_FALSE(parse_duration(wrong));
}
