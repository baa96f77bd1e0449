// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/sim/agenda.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

NodeIndex node_of(Happening const& what) {
  return std::get<due::StartAgent>(what).node;
}

}  // namespace

TEST_CASE("things happen by time, and at one moment in the order in which they were planned") {
  Agenda agenda(1, false);
  agenda.plan(2s, due::StartAgent{3});
  agenda.plan(1s, due::StartAgent{1});
  agenda.plan(1s, due::StartAgent{2});
  for (NodeIndex const next : {1u, 2u, 3u}) CHECK(node_of(agenda.take()) == next);
  CHECK(agenda.empty());
  CHECK(agenda.moment() == kBegin + 2s);
}

TEST_CASE("whoever chooses takes any of them, and time never goes back") {
  Agenda agenda(1, true);
  agenda.plan(3s, due::StartAgent{1});
  agenda.plan(1s, due::StartAgent{2});
  auto const first = agenda.pending().front().at;
  CHECK(first == kBegin + 1s);
  std::uint64_t later = 0;
  for (auto const& due : agenda.pending())
    if (due.at == kBegin + 3s) later = due.number;
  CHECK(node_of(agenda.take_number(later)) == 1);
  CHECK(agenda.moment() == kBegin + 3s);
  CHECK(node_of(agenda.take()) == 2);
  CHECK(agenda.moment() == kBegin + 3s);
}

TEST_CASE("an exact agenda leaves nothing to chance") {
  Agenda agenda(1, true);
  CHECK(agenda.up_to(5s) == Duration::zero());
  CHECK(agenda.between(1s, 5s) == 1s);
  CHECK_FALSE(agenda.chance(0.99));
  Agenda drawn(1, false);
  CHECK(drawn.chance(1.0));
  CHECK_FALSE(drawn.chance(0.0));
  for (int i = 0; i < 100; ++i) CHECK(drawn.between(1s, 2s) <= 2s);
}
