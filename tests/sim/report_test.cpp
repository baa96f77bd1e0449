// SPDX-License-Identifier: Apache-2.0
// What muster simulate says of a history that breaks an invariant.

#include "rendezvous/sim/report.hpp"

#include "tests/sim/deliberate_faults.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::sim;

namespace {

bool mentions(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a seed that breaks an invariant tells its story and ends with 1", "[sim]") {
  auto const fault = deliberate_faults().at(1);  // workers start on PREPARE
  auto const many = report_many(1, 20, random_plan, fault.twist.get());
  CHECK(many.exit_code == 1);
  REQUIRE(mentions(many.text, "VIOLATION of invariant 5: "));
  CHECK(mentions(many.text, "starts the workers of round 1"));
  CHECK(mentions(many.text, "\nseed "));
  CHECK(mentions(many.text, "20 histories"));
  CHECK_FALSE(mentions(many.text, " 0 broke an invariant"));

  auto const seed = std::stoull(many.text.substr(many.text.find("\nseed ") + 6));
  auto const one = report_one(seed, random_plan(seed), Telling::what_matters, fault.twist.get());
  CHECK(one.exit_code == 1);
  CHECK(mentions(many.text, one.text));  // the same history, replayed
}

TEST_CASE("a seed that breaks none ends with 0", "[sim]") {
  auto const report = report_one(1, random_plan(1), Telling::what_matters);
  CHECK(report.exit_code == 0);
  CHECK_FALSE(mentions(report.text, "VIOLATION"));
}
