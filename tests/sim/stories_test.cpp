// SPDX-License-Identifier: Apache-2.0
// Stories that broke an invariant once, found by seeds of the swarm, told with nothing beside them.

#include "tests/sim/scenes.hpp"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kSeeds = 25;

// A newcomer brings the second round; then the fault strikes.
Plan growing_plan(std::uint32_t nodes, std::uint32_t min_nodes, Moment when, Fault what) {
  auto plan = calm_plan(nodes, min_nodes, 60s);
  plan.late = {nodes - 1};
  at(plan, 10s, fault::Start{nodes - 1});
  MomentFault fault;
  fault.when = when;
  fault.nth = when == Moment::committed ? 2 : 1;
  fault.what = std::move(what);
  plan.at_moments.push_back(std::move(fault));
  return plan;
}

bool runs_workers(Process const* process) {
  return process->workers.round != RoundNumber{};
}

}  // namespace

// Seeds 30050 and 86942. The three held the record of the second round, of which they were no
// quorum, and kept each other's lease as the quorum of the first one. When the COMMIT arrived at
// last they began what the others had left behind.
TEST_CASE("voters of the record before keep no lease of a node that has prepared the next one",
          "[sim]") {
  auto plan = growing_plan(6, 2, Moment::committed, fault::Partition{{{0, 1, 5}}});
  plan.job.scale_interval = 5s;
  at(plan, 24s, fault::Heal{});
  play(plan, kSeeds, [](World const& world) {
    for (NodeIndex i = 0; i < 6; ++i) {
      INFO(node_name(i));
      CHECK(ended_well(world.last_on(i)));
    }
  });
}

// Seed 67293. The one that is left could have gone on under the first record, but not under the
// second, which its host may have committed: it has to hold, and it ends when its time is over.
TEST_CASE("a node that cannot have a quorum of what it has prepared holds, and ends with code 83",
          "[sim]") {
  for (auto const nth : {1u, 2u}) {  // of the two voters' PREPARED
    auto plan = growing_plan(2, 1, Moment::prepared, fault::PowerLoss{2});
    plan.daemon = true;
    plan.script.endless = true;
    plan.at_moments[0].nth = 1 + nth;  // the first round has one voter
    plan.at_moments.push_back(plan.at_moments[0]);
    plan.at_moments[1].what = fault::PowerLoss{1};
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      World world(seed, plan, Telling::what_matters);
      world.run(world.last_moment());
      INFO("seed " << seed << "\n" << text_of(world.story));
      REQUIRE(world.checker.violations.empty());
      if (rounds_of(world) == 2) continue;  // committed at once with the second PREPARED
      auto const* last = world.last_on(0);
      CHECK_FALSE(runs_workers(last));
      auto const& prepared = last->member->voter.prepared;
      auto const holds_it = prepared && prepared->record.nodes == 2;
      if (holds_it) CHECK(exit_code(last) == exit_code_of(Errc::lost_quorum));
    }
  }
}

// The host had counted h5 out and prepared the round without it; then three of the five went on
// without the host, in vain, and all met again. The new host took that round over, which does not
// name the three, and sent them away before it had their votes for it: nobody ever had a quorum.
TEST_CASE("a successor sends no voter away before the record that it found is committed", "[sim]") {
  auto plan = calm_plan(5, 2, 100s);
  plan.job.scale_interval = 5s;
  at(plan, 10s, fault::OneWay{{4}, {0}});
  MomentFault parted;
  parted.when = Moment::prepared;
  parted.nth = 9;  // after the five of the first round the last of four
  parted.what = fault::Partition{{{0, 1}}};
  plan.at_moments.push_back(parted);
  at(plan, 30s, fault::Heal{});
  play(plan, kSeeds, [](World const& world) {
    CHECK(until_next_round(world, 30s) <= 15s);
    for (NodeIndex i = 0; i < 5; ++i) {
      INFO(node_name(i));
      CHECK(ended_well(world.last_on(i)));
    }
  });
}

// A host that was born again where others knew it as the job's: with too few of them left it could
// not take over, and its own agent and whoever came to it waited for ever.
TEST_CASE("an agent whose host never takes over ends with code 83", "[sim]") {
  auto plan = calm_plan(3, 2, 20s);
  plan.script.endless = true;
  at(plan, 10s, fault::PowerLoss{0});
  at(plan, 10s, fault::PowerLoss{2});
  at(plan, 12s, fault::Start{0});
  play(plan, kSeeds, [](World const& world) {
    CHECK(exit_code(world.last_on(0)) == exit_code_of(Errc::lost_quorum));
    CHECK(exit_code(world.last_on(1)) == exit_code_of(Errc::lost_quorum));
  });
}

// Seed 195951. The four that the host did not hear kept each other's lease, and one of them died.
// Its last word let half of the voters that were left decide with the host, and none of these knew
// of a lease: the next round ran for seconds beside the workers of the one before.
TEST_CASE("the next round waits for those whose lease a voter granted that is dead", "[sim]") {
  auto plan = calm_plan(7, 2, 60s);
  plan.job.scale_interval = 5s;
  plan.grace = plan.kill_time = 10ms;
  at(plan, 10s, fault::Partition{{{0, 1, 2}, {3, 4, 5, 6}}});
  at(plan, 30s, fault::Heal{});
  auto const counted_out = [](World const& world) {
    auto const* process = world.last_on(0);
    if (!process || !process->hosting) return false;
    auto const& host = process->hosting->host;
    return host.ghosts.size() == 4 && host.to_stop.empty();
  };
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed, plan, Telling::what_matters);
    strike_when(
        world, counted_out,
        {fault::Kill{6, false}, fault::Heal{}, fault::Partition{{{0, 1, 2, 6}, {3, 4, 5}}}});
    INFO("seed " << seed << "\n" << text_of(world.story));
    REQUIRE(world.checker.violations.empty());
    CHECK(until_next_round(world, 10s) >= 9s);
    CHECK(until_next_round(world, 10s) <= 11s);
    for (NodeIndex i = 0; i < 6; ++i) CHECK(ended_well(world.last_on(i)));
  }
}

// Seed 147371. The host committed the round without two of the five, nobody else heard of it, and
// it died when the others had prepared the one that came next. These two were a quorum of what they
// held, and so kept each other's lease; but to be host they wanted one of the first round, the last
// that they knew to be committed, too, and went on asking for ever.
TEST_CASE("voters that never heard of a COMMIT go on from what was prepared after it", "[sim]") {
  auto plan = calm_plan(5, 2, 60s);
  at(plan, 10s, fault::Partition{{{0, 3, 4}, {1, 2}}});
  MomentFault unheard;
  unheard.when = Moment::committed;
  unheard.nth = 2;
  unheard.what = fault::Partition{{{0}, {1, 2}, {3, 4}}};
  plan.at_moments.push_back(unheard);
  at(plan, 17s, fault::FailWorker{0, 3});
  at(plan, 17500ms, fault::Break{0, 3});
  at(plan, 17500ms, fault::Break{0, 4});
  at(plan, 17500ms, fault::Heal{});
  at(plan, 17500ms, fault::Partition{{{0, 3, 4}, {1, 2}}});
  auto const holds_more = [](Process const* process) {
    if (!process) return false;
    auto const& voter = process->member->voter;
    return voter.committed && voter.committed->nodes == 5 && !voter.prepared->bases.empty() &&
           voter.prepared->bases.front().voters.size() == 3;
  };
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed, plan, Telling::what_matters);
    strike_when(
        world,
        [&](World const& now) { return holds_more(now.last_on(3)) && holds_more(now.last_on(4)); },
        {fault::Kill{0, false}});
    INFO("seed " << seed << "\n" << text_of(world.story));
    REQUIRE(world.checker.violations.empty());
    for (NodeIndex i : {3u, 4u}) CHECK(ended_well(world.last_on(i)));
  }
}

// Two gave a candidate their votes and died. The host before counted them out by their last words,
// decided with half of those that were left, and its round was undone by the one that they elected.
TEST_CASE("a host does not count out who had voted for a later reign", "[sim]") {
  auto plan = calm_plan(5, 1, 90s);
  plan.job.scale_interval = 5s;
  plan.grace = plan.kill_time = 5ms;
  at(plan, 10s, fault::Partition{{{0, 1}, {2, 3, 4}}});
  at(plan, 30s, fault::Heal{});
  auto const elected = [](World const& world) {
    auto const* process = world.last_on(2);
    return process && process->hosting && process->hosting->host.epoch == Epoch{2};
  };
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed, plan, Telling::what_matters);
    strike_when(world, elected,
                {fault::Kill{3, false}, fault::Kill{4, false}, fault::Heal{},
                 fault::Partition{{{0, 1, 3, 4}, {2}}}});
    INFO("seed " << seed << "\n" << text_of(world.story));
    REQUIRE(world.checker.violations.empty());
    for (NodeIndex i : {0u, 1u, 2u}) CHECK(ended_well(world.last_on(i)));
  }
}
