// SPDX-License-Identifier: Apache-2.0
// What is promised about single events, in virtual time: how soon a loss is followed by a new
// round, and what is followed by none.

#include "tests/sim/scenes.hpp"

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kSeeds = 25;
constexpr auto kMoment = 10s;  // of the event

void all_end_well(World const& world) {
  for (NodeIndex i = 0; i < world.plan().nodes; ++i) {
    INFO(node_name(i));
    CHECK(ended_well(world.last_on(i)));
  }
}

}  // namespace

TEST_CASE("without faults every world succeeds in its first round", "[sim]") {
  for (std::uint32_t nodes = 1; nodes <= 9; ++nodes)
    for (auto const daemon : {false, true}) {
      auto plan = calm_plan(nodes, nodes, kMoment);
      plan.daemon = daemon;
      play(plan, 5, [&](World const& world) {
        all_end_well(world);
        CHECK(rounds_of(world) == 1);
        CHECK(nodes_of_last_round(world) == nodes);
      });
    }
}

TEST_CASE("a node without power is followed by a new round within six seconds", "[sim]") {
  auto plan = calm_plan(4, 2, 30s);
  at(plan, kMoment, fault::PowerLoss{2});
  play(plan, kSeeds, [](World const& world) {
    CHECK(until_next_round(world, kMoment) <= 6s);
    CHECK(nodes_of_last_round(world) == 3);
    CHECK(ended_well(world.last_on(0)));
  });
}

TEST_CASE("with `dead` at two seconds it takes two and a half", "[sim]") {
  auto plan = calm_plan(4, 2, 30s);
  plan.job.dead = 2s;
  at(plan, kMoment, fault::PowerLoss{2});
  play(plan, kSeeds,
       [](World const& world) { CHECK(until_next_round(world, kMoment) <= 2'500ms); });
}

TEST_CASE("the host's node without power is followed by a new round within seven seconds",
          "[sim]") {
  auto plan = calm_plan(4, 2, 30s);
  at(plan, kMoment, fault::PowerLoss{0});
  play(plan, kSeeds, [](World const& world) {
    CHECK(until_next_round(world, kMoment) <= 7s);
    CHECK(nodes_of_last_round(world) == 3);
    CHECK(ended_well(world.last_on(1)));
  });
}

TEST_CASE("SIGKILL of an agent is followed by a new round within half a second", "[sim]") {
  auto plan = calm_plan(4, 2, 30s);
  plan.grace = 100ms;
  at(plan, kMoment, fault::Kill{3, false});
  play(plan, kSeeds, [](World const& world) { CHECK(until_next_round(world, kMoment) <= 500ms); });
}

TEST_CASE("SIGKILL of the host's agent is followed by a new round within a second", "[sim]") {
  auto plan = calm_plan(4, 2, 30s);
  plan.grace = 100ms;
  at(plan, kMoment, fault::Kill{0, false});
  play(plan, kSeeds, [](World const& world) {
    CHECK(until_next_round(world, kMoment + 1us) <= 1s);
    CHECK(nodes_of_last_round(world) == 3);
  });
}

TEST_CASE("a pause of two seconds, of a member or of the host, evicts nobody", "[sim]") {
  for (NodeIndex node : {0u, 2u})
    for (auto const whole : {false, true}) {
      auto plan = calm_plan(4, 2, 30s);
      if (whole)
        at(plan, kMoment, fault::Freeze{node, 2s});
      else
        at(plan, kMoment, fault::Pause{node, 2s});
      play(plan, kSeeds, [](World const& world) {
        CHECK(rounds_of(world) == 1);
        all_end_well(world);
      });
    }
}

TEST_CASE("after a pause of twenty seconds a node is gone with its workers, and comes back",
          "[sim]") {
  for (NodeIndex node : {0u, 2u}) {
    auto plan = calm_plan(4, 2, 90s);
    plan.job.scale_interval = 5s;
    at(plan, kMoment, fault::Pause{node, 20s});
    play(plan, kSeeds, [](World const& world) {
      CHECK(until_next_round(world, kMoment + 1us) <= 7s);
      CHECK(nodes_of_last_round(world) == 4);
      all_end_well(world);
    });
  }
}

TEST_CASE("a daemon that is killed and started again costs no worker its life", "[sim]") {
  auto plan = calm_plan(4, 4, 40s);
  plan.daemon = true;
  at(plan, kMoment, fault::Kill{4, false});
  at(plan, kMoment + 500ms, fault::Start{4});
  at(plan, 25s, fault::FailWorker{1, 3});
  play(plan, kSeeds, [](World const& world) {
    CHECK(rounds_of(world) == 2);  // the second one follows the failure
    CHECK(until_next_round(world, 25s) <= 2s);
    all_end_well(world);
  });
}

TEST_CASE("a daemon that is gone for good is followed by a host among the agents", "[sim]") {
  for (auto const power : {false, true}) {
    auto plan = calm_plan(4, 4, 150s);
    plan.daemon = true;
    if (power)
      at(plan, kMoment, fault::PowerLoss{4});
    else
      at(plan, kMoment, fault::Kill{4, true});
    at(plan, 100s, fault::FailWorker{1, 3});
    play(plan, kSeeds, [](World const& world) {
      CHECK(rounds_of(world) == 2);
      CHECK(until_next_round(world, 100s) <= 2s);
      all_end_well(world);
    });
  }
}

TEST_CASE("of five nodes parted three to two the three go on, and all again when it heals",
          "[sim]") {
  for (auto const host_with_few : {false, true}) {
    auto plan = calm_plan(5, 2, 100s);
    plan.job.scale_interval = 5s;
    NodeGroup const few = host_with_few ? NodeGroup{0, 4} : NodeGroup{3, 4};
    at(plan, kMoment, fault::Partition{{few}});
    at(plan, 30s, fault::Heal{});
    play(plan, kSeeds, [](World const& world) {
      CHECK(until_next_round(world, kMoment + 1us) <= 8s);
      CHECK(nodes_of_last_round(world) == 5);
      all_end_well(world);
    });
  }
}

TEST_CASE("of two nodes the host goes on alone, and so does the other one if the host's agent dies",
          "[sim]") {
  auto lost = calm_plan(2, 1, 30s);
  at(lost, kMoment, fault::PowerLoss{1});
  play(lost, kSeeds, [](World const& world) {
    CHECK(until_next_round(world, kMoment) <= 6s);
    CHECK(ended_well(world.last_on(0)));
  });
  auto killed = calm_plan(2, 1, 30s);
  at(killed, kMoment, fault::Kill{0, false});
  play(killed, kSeeds, [](World const& world) {
    CHECK(until_next_round(world, kMoment + 1us) <= 1s);
    CHECK(ended_well(world.last_on(1)));
  });
}

TEST_CASE("of two nodes the one that loses the host's node holds, and ends with code 83", "[sim]") {
  auto plan = calm_plan(2, 1, 200s);
  at(plan, kMoment, fault::PowerLoss{0});
  play(plan, kSeeds, [](World const& world) {
    CHECK(rounds_of(world) == 1);
    CHECK(exit_code(world.last_on(1)) == exit_code_of(Errc::lost_quorum));
  });
}

TEST_CASE("a spare takes over five times", "[sim]") {
  auto plan = calm_plan(7, 2, 100s);
  plan.job.max_nodes = 2;
  NodeGroup const spares{2, 3, 4, 5, 6};
  for (auto const node : spares) plan.late.push_back(node);
  for (std::uint32_t i = 0; i < spares.size(); ++i)
    at(plan, 2s + i * 500ms, fault::Start{spares[i]});
  std::vector<NodeIndex> const lost{1, 2, 3, 4, 5};
  for (std::uint32_t i = 0; i < lost.size(); ++i)
    at(plan, 15s + i * 15s, fault::PowerLoss{lost[i]});
  play(plan, kSeeds, [](World const& world) {
    CHECK(rounds_of(world) == 6);
    for (std::uint32_t i = 0; i < 5; ++i) CHECK(until_next_round(world, 15s + i * 15s) <= 6s);
    CHECK(nodes_of_last_round(world) == 2);
    CHECK(ended_well(world.last_on(0)));
    CHECK(ended_well(world.last_on(6)));
  });
}

// It is called at one place, the host's, where nobody is any more.
TEST_CASE("a spare finds the next host, and takes the place of the one before", "[sim]") {
  for (Fault const& fault : {Fault{fault::PowerLoss{0}}, Fault{fault::Kill{0, false}}}) {
    auto plan = calm_plan(4, 2, 60s);
    plan.job.max_nodes = 3;
    plan.late = {3};
    at(plan, 2s, fault::Start{3});
    plan.kill_time = 1'900ms;  // the guardian's word may be long in coming
    at(plan, kMoment, fault);
    play(plan, kSeeds, [](World const& world) {
      CHECK(rounds_of(world) == 2);  // not one without the spare between
      CHECK(nodes_of_last_round(world) == 3);
      for (NodeIndex const node : {1u, 2u, 3u}) CHECK(ended_well(world.last_on(node)));
    });
  }
}

TEST_CASE("a node joins and leaves twenty times", "[sim]") {
  auto plan = calm_plan(3, 2, 220s);
  plan.job.scale_interval = 1s;
  plan.late.push_back(2);
  for (int i = 0; i < 20; ++i) {
    at(plan, 10s + i * 10s, fault::Start{2});
    at(plan, 15s + i * 10s, fault::Terminate{2});
  }
  play(plan, 5, [](World const& world) {
    CHECK(rounds_of(world) == 41);
    CHECK(ended_well(world.last_on(0)));
    CHECK(ended_well(world.last_on(1)));
  });
}

TEST_CASE("the script of a job that grows and shrinks ends well", "[sim]") {
  auto plan = calm_plan(4, 1, 120s);
  plan.job.scale_interval = 5s;
  plan.late = {1, 2, 3};
  for (NodeIndex node : {1u, 2u, 3u}) at(plan, 15s, fault::Start{node});
  at(plan, 50s, fault::PowerLoss{2});
  at(plan, 50s, fault::PowerLoss{3});
  play(plan, kSeeds, [](World const& world) {
    CHECK(nodes_of_last_round(world) == 2);
    CHECK(ended_well(world.last_on(0)));
    CHECK(ended_well(world.last_on(1)));
  });
}

// Everybody is counted out by somebody, and whose lease a voter had kept is waited for; those who
// come again say themselves that their workers are dead.
TEST_CASE("after an outage of the whole network the job goes on as soon as its nodes meet",
          "[sim]") {
  auto plan = calm_plan(5, 2, 60s);
  at(plan, 10s, fault::Partition{{{0}, {1}, {2}, {3}, {4}}});
  at(plan, 22s, fault::Heal{});
  play(plan, kSeeds, [](World const& world) {
    CHECK(nodes_of_last_round(world) == 5);
    CHECK(until_next_round(world, 34s) == Duration{1h});  // all of that is over by then
    all_end_well(world);
  });
}
