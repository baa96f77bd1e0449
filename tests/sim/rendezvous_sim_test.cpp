// SPDX-License-Identifier: Apache-2.0
// Thousands of histories. A failing seed prints its story; put it into kRegress.

#include "rendezvous/sim/world.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kRegress[] = {0, 209122};

std::uint64_t number_from(char const* name, std::uint64_t otherwise) {
  auto const* wanted = std::getenv(name);
  return wanted ? std::strtoull(wanted, nullptr, 10) : otherwise;
}

std::string story_of(std::uint64_t seed, Telling telling = Telling::what_matters) {
  World world(seed, random_plan(seed), telling);
  world.run(world.last_moment());
  std::string all;
  for (auto const& line : world.story) all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("no history breaks an invariant", "[sim]") {
  auto const first = number_from("MUSTER_SIM_FIRST", 1);
  auto const seeds = number_from("MUSTER_SIM_SEEDS", 2'000);
  auto const dump = std::getenv("MUSTER_SIM_DUMP");
  std::uint64_t events = 0, successes = 0, broken = 0;
  std::map<std::string, std::pair<int, std::uint64_t>> kinds;
  auto const play = [&](std::uint64_t seed) {
    World world(seed, random_plan(seed));
    world.run(world.last_moment());
    events += world.events;
    auto const& outcome = world.checker.outcome();
    if (outcome && outcome->success) ++successes;
    if (world.checker.violations.empty()) return;
    ++broken;
    auto text = to_text(world.checker.violations.front());
    std::string generic;
    for (char c : text)
      if (c < '0' || c > '9') generic += c;
    auto& kind = kinds[generic];
    if (kind.first++ == 0) kind.second = seed;
  };
  for (auto const seed : kRegress) play(seed);
  for (auto seed = first; seed < first + seeds; ++seed) play(seed);
  std::printf("%llu seeds, %llu events, %llu successes, %llu broken\n", (unsigned long long)seeds,
              (unsigned long long)events, (unsigned long long)successes,
              (unsigned long long)broken);
  for (auto const& [text, kind] : kinds)
    std::printf("%6d  first %llu  %s\n", kind.first, (unsigned long long)kind.second, text.c_str());
  if (dump)
    std::printf("%s\n", story_of(std::strtoull(dump, nullptr, 10), std::getenv("MUSTER_SIM_ALL")
                                                                       ? Telling::everything
                                                                       : Telling::what_matters)
                            .c_str());
  CHECK(broken == 0);
}
