// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/explain.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

TEST_CASE("every reason is a sentence and an object with its state", "[membership]") {
  TimePoint const now{10s};
  std::vector<std::pair<Why, std::string>> const reasons{
      {why::WaitingForNodes{2, 3, 4}, "waiting for nodes: 2 of at least 3 are here"},
      {why::LastCall{3, 4, now + 1500ms}, "3 nodes are here; up to 1 more may come within 1.5 s"},
      {why::LastCall{5, 4, now + 1500ms}, "5 nodes are here; the round begins within 1.5 s"},
      {why::OpeningStore{RoundNumber{7}, "a"}, "round 7: host a opens the workers' store"},
      {why::Preparing{RoundNumber{7}, 1, 3}, "round 7: 1 of 3 voters have its record"},
      {why::WaitingForStop{RoundNumber{7}, 2},
       "waiting for 2 nodes to stop the workers of round 7"},
      {why::Running{RoundNumber{7}, 2, 8, 1}, "round 7 runs 8 workers on 2 nodes; 1 node is done"},
      {why::Running{RoundNumber{7}, 1, 1, 0}, "round 7 runs 1 worker on 1 node; 0 nodes are done"},
      {why::Concluding{"node b is lost"}, "the job ends: node b is lost"},
      {why::Concluding{""}, "the job ends"},
      {why::Telling{1}, "the job is over; 1 node has not acknowledged it"},
      {why::Over{true, ""}, "the job succeeded"},
      {why::Over{false, "x"}, "the job failed: x"},
  };
  for (auto const& [why, sentence] : reasons) {
    CHECK(explain(why, now) == sentence);
    auto const object = nlohmann::json::parse(to_json(why, now));
    CHECK(object["text"] == sentence);
    CHECK_FALSE(object["state"].get<std::string>().empty());
  }
}

TEST_CASE("a time that has passed leaves zero seconds", "[membership]") {
  why::LastCall const call{1, 2, TimePoint{1s}};
  CHECK(explain(call, TimePoint{5s}).find("0.0 s") != std::string::npos);
  CHECK(nlohmann::json::parse(to_json(call, TimePoint{5s}))["seconds_left"] == 0.0);
}
