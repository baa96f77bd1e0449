// SPDX-License-Identifier: Apache-2.0
// Who is there, comes and goes while one host takes over from another.

#include "tests/unit/membership/succession.hpp"

using namespace muster;
using namespace muster::membership;
using namespace std::chrono_literals;

TEST_CASE("a successor gives the lost host's place to a spare that asked who hosts",
          "[membership]") {
  HostBench bench(2);
  bench.settings.max_nodes = 3;
  auto const votes = votes_for(record_of(3), true);
  auto const resume = [&](std::set<Incarnation> const& spares, bool spare_dies = false) {
    NewHost const who{"job", "n2", Incarnation{2}, Epoch{2}, spares};
    bench.host = make_successor(who, *mandate_of(votes), bench.now, bench.settings);
    CHECK(bench.host.spares.contains(Incarnation{4}) == spares.contains(Incarnation{4}));
    CHECK(bench.host.spares.size() <= 1);  // who has a place, or is dead, is none
    bench.say(2, returning(bench, 2));
    bench.say(3, returning(bench, 3));
    if (spare_dies) bench.event(Died{Incarnation{4}, RoundNumber{}});
    bench.prepare_all();
  };
  SECTION("it comes") {
    resume({Incarnation{1}, Incarnation{3}, Incarnation{4}});
    REQUIRE(bench.host.phase == Phase::gathering);
    bench.tick(100ms);
    REQUIRE(bench.host.phase == Phase::gathering);
    bench.join(4);
    REQUIRE(bench.host.phase == Phase::forming);
    CHECK(bench.host.proposal->table.size() == 3);
  }
  SECTION("it dies, too") {
    resume({Incarnation{4}}, true);
    CHECK(bench.host.phase == Phase::forming);
  }
  SECTION("it does not come: half a second is all that it costs") {
    resume({Incarnation{4}});
    REQUIRE(bench.host.phase == Phase::gathering);
    auto const until = bench.host.spares_until;
    bench.pass(400ms, {2, 3});
    REQUIRE(bench.host.phase == Phase::gathering);
    CHECK(bench.last.wake_at <= until);
    bench.now = until;
    bench.event(Tick{});
    REQUIRE(bench.host.phase == Phase::forming);
    CHECK(bench.host.proposal->table.size() == 2);
  }
  SECTION("nobody asked") {
    resume({});
    CHECK(bench.host.phase == Phase::forming);
  }
  SECTION("all places are taken") {
    bench.settings.max_nodes = 2;
    resume({Incarnation{4}});
    CHECK(bench.host.phase == Phase::forming);
  }
}

TEST_CASE("while a host takes over whoever comes hears for itself what is waited for",
          "[membership]") {
  HostBench bench(3);
  take_over(bench, 3);
  bench.say(2, returning(bench, 2));
  bench.join(4);
  CHECK(bench.to<Waiting>(4).size() == 1);
  bench.join(5);
  CHECK(bench.to<Waiting>(5).size() == 1);
  CHECK(bench.to<Waiting>(4).size() == 1);
  CHECK(bench.to<Waiting>(2).empty());
}

TEST_CASE("a node that wants to leave while its host takes over goes once it is known who stays",
          "[membership]") {
  HostBench bench(4);
  bench.settings.min_nodes = 2;
  NewHost const who{"job", "n2", Incarnation{2}, Epoch{2}};
  bench.host =
      make_successor(who, *mandate_of(votes_for(record_of(4), true)), bench.now, bench.settings);
  bench.say(2, returning(bench, 2));
  bench.say(3, returning(bench, 3));
  bench.say(3, Leave{143, "node n3 was told to end"});
  CHECK(bench.host.phase == Phase::resuming);
  bench.prepare_all();
  CHECK(bench.host.phase == Phase::gathering);
  SECTION("the others come back, and go on") {
    bench.say(4, returning(bench, 4));
    REQUIRE(bench.host.phase == Phase::forming);
    CHECK(bench.host.proposal->table.size() == 2);
    CHECK(bench.to<Outcome>(4).empty());
  }
  SECTION("nobody comes back: the job ends as it told the node to") {
    CHECK(bench.last.wake_at <= bench.host.back_until);
    bench.pass(10s, {2, 3});
    REQUIRE(bench.host.ending);
    CHECK(bench.host.ending->outcome.exit_code == 143);
  }
}
