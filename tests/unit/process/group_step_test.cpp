// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/group_step.hpp"

#include <catch2/catch.hpp>

#include <csignal>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

using Effects = std::vector<group::Effect>;
TimePoint const kStart{100s};

GroupState group_of(std::size_t count) {
  GroupState state;
  state.workers.resize(count);
  return state;
}

bool releases(Effects const& effects) {
  return !effects.empty() && std::holds_alternative<group::Release>(effects.back());
}

std::size_t kills(Effects const& effects) {
  std::size_t count = 0;
  for (auto const& effect : effects) count += std::holds_alternative<group::Kill>(effect) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("workers that end by themselves are released when the last one has", "[process]") {
  auto state = group_of(3);
  CHECK(group_step(state, group::Ended{1}, kStart) == Effects{});
  CHECK(group_step(state, group::Ended{0}, kStart) == Effects{});
  CHECK(group_step(state, group::Ended{2}, kStart) == Effects{group::Release{}});
  CHECK(state.released);
}

TEST_CASE("a stop signals everybody and wakes up at the end of the grace", "[process]") {
  auto state = group_of(2);
  CHECK(group_step(state, group::Stop{SIGTERM, 30s}, kStart) ==
        Effects{group::SendSignal{0, SIGTERM}, group::SendSignal{1, SIGTERM},
                group::WakeAt{kStart + 30s}});
}

TEST_CASE("whoever is alive after the grace is killed, and only they", "[process]") {
  auto state = group_of(2);
  group_step(state, group::Stop{SIGTERM, 5s}, kStart);
  CHECK(group_step(state, group::Ended{0}, kStart + 1s) ==
        Effects{group::Kill{0}, group::WakeAt{kStart + 5s}});
  CHECK(group_step(state, group::Tick{}, kStart + 4s) == Effects{group::WakeAt{kStart + 5s}});
  CHECK(group_step(state, group::Tick{}, kStart + 5s) ==
        Effects{group::Kill{1}, group::WakeAt{kStart + 5s + kKillPatience}});
  CHECK(releases(group_step(state, group::Ended{1}, kStart + 6s)));
}

TEST_CASE("a worker that does not die of SIGKILL is given up, not waited for", "[process]") {
  auto state = group_of(1);
  CHECK(kills(group_step(state, group::KillNow{}, kStart)) == 1);
  CHECK(releases(group_step(state, group::Tick{}, kStart + kKillPatience)));
  CHECK(state.workers[0].phase == WorkerPhase::lost);
}

TEST_CASE("a second stop passes its signal on and never lengthens the grace", "[process]") {
  auto state = group_of(1);
  group_step(state, group::Stop{SIGTERM, 10s}, kStart);
  CHECK(group_step(state, group::Stop{SIGINT, 30s}, kStart + 1s) ==
        Effects{group::SendSignal{0, SIGINT}, group::WakeAt{kStart + 10s}});
  CHECK(group_step(state, group::Stop{SIGINT, 2s}, kStart + 1s).back() ==
        group::Effect{group::WakeAt{kStart + 3s}});
}

TEST_CASE("the group of a worker that ended before the stop is signalled, too", "[process]") {
  auto state = group_of(2);
  group_step(state, group::Ended{0}, kStart);
  auto const effects = group_step(state, group::Stop{SIGTERM, 1s}, kStart);
  CHECK(effects.front() == group::Effect{group::SendSignal{0, SIGTERM}});
  CHECK(state.workers[0].phase == WorkerPhase::ended);
}

TEST_CASE("an empty group is released by whatever comes first", "[process]") {
  auto state = group_of(0);
  CHECK(group_step(state, group::KillNow{}, kStart) == Effects{group::Release{}});
  CHECK(group_step(state, group::KillNow{}, kStart) == Effects{});
}

TEST_CASE("in any order of events everybody is over exactly once and nothing follows",
          "[process]") {
  // All sequences of five events over two workers; time advances by 3 s, the grace is 5 s.
  std::vector<group::Event> const kinds{group::Stop{SIGTERM, 5s}, group::KillNow{}, group::Tick{},
                                        group::Ended{0}, group::Ended{1}};
  for (int code = 0; code < 5 * 5 * 5 * 5 * 5; ++code) {
    auto state = group_of(2);
    auto now = kStart;
    int released = 0;
    for (int rest = code, i = 0; i < 5; ++i, rest /= 5, now += 3s) {
      bool const before = state.released;
      auto const effects = group_step(state, kinds[static_cast<std::size_t>(rest % 5)], now);
      if (before) REQUIRE(effects.empty());
      released += releases(effects) ? 1 : 0;
    }
    group_step(state, group::KillNow{}, now);
    if (auto const last = group_step(state, group::Tick{}, now + kKillPatience); releases(last))
      ++released;
    INFO("sequence " << code);
    REQUIRE(state.released);
    REQUIRE(released <= 1);
    for (auto const& worker : state.workers)
      REQUIRE((worker.phase == WorkerPhase::ended || worker.phase == WorkerPhase::lost));
  }
}
