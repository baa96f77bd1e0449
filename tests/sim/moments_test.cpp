// SPDX-License-Identifier: Apache-2.0
// Faults at the worst moments, which no clock finds: between PREPARE and COMMIT, and at the end.

#include "tests/sim/scenes.hpp"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

Process const* host_of(World const& world) {
  for (auto const& [id, process] : world.processes)
    if (process.alive && process.hosting && !process.hosting->finished) return &process;
  return nullptr;
}

template <class Moment>
void strike_when_host(World& world, Moment is_now, Fault const& fault) {
  auto const has_come = [&is_now](World const& now) {
    auto const* host = host_of(now);
    return host && is_now(*host);
  };
  strike_when(world, has_come, {fault});
}

bool is_prepared_by_one(Process const& host) {
  auto const& core = host.hosting->host;
  return core.committed && core.phase == membership::Phase::forming &&
         !core.proposal->prepared.empty();
}

bool is_preparing(Process const& host) {
  auto const& core = host.hosting->host;
  return core.committed && core.phase == membership::Phase::forming && core.proposal->store_open;
}

auto const kGoing =
    std::vector<Fault>{fault::Kill{0, false}, fault::Kill{0, true}, fault::PowerLoss{0}};

}  // namespace

TEST_CASE("a host that goes between PREPARE and COMMIT is followed by another", "[sim]") {
  for (auto const moment : {is_prepared_by_one, is_preparing})
    for (auto const& fault : kGoing) {
      auto plan = calm_plan(4, 2, 60s);
      at(plan, 10s, fault::FailWorker{2, 3});
      for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        World world(seed, plan, Telling::what_matters);
        strike_when_host(world, moment, fault);
        INFO(to_text(fault) << ", seed " << seed << "\n" << text_of(world.story));
        REQUIRE(world.checker.violations.empty());
        CHECK(until_next_round(world, 20s) == 1h);  // all is well again before
        for (NodeIndex node : {1u, 2u, 3u}) CHECK(ended_well(world.last_on(node)));
      }
    }
}

TEST_CASE("a host that goes while the outcome is told leaves nobody with another", "[sim]") {
  for (auto const phase : {membership::Phase::concluding, membership::Phase::telling})
    for (auto const& fault : kGoing)
      for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        World world(seed, calm_plan(4, 2, 10s), Telling::what_matters);
        strike_when_host(
            world, [phase](Process const& host) { return host.hosting->host.phase == phase; },
            fault);
        INFO(to_text(fault) << ", seed " << seed << "\n" << text_of(world.story));
        REQUIRE(world.checker.violations.empty());
        for (NodeIndex node : {1u, 2u, 3u}) CHECK(ended_well(world.last_on(node)));
      }
}
