// SPDX-License-Identifier: Apache-2.0
// What the made-up network promises: each direction of a connection keeps its order.

#include "rendezvous/sim/network.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::sim;

namespace {

Parcel letter(std::uint64_t round) {
  control::Letter letter;
  letter.message = membership::Done{RoundNumber{round}};
  return std::make_shared<control::Letter const>(std::move(letter));
}

std::uint64_t round_of(due::Arrival const& arrival) {
  return std::get<membership::Done>(arrival.parcel->message).round.value;
}

}  // namespace

TEST_CASE("what a cut held back arrives before what was sent after it", "[sim]") {
  Agenda agenda(1, true);
  Network network(2);
  auto const id = network.dial(ProcessId{1}, 0, 1, Purpose::host, agenda);
  agenda.take();
  REQUIRE(network.answer(id, Reach::listening, ProcessId{2}, agenda));

  network.send(id, Side::caller, letter(1), agenda);
  network.cut(0, 1, agenda.moment());
  CHECK_FALSE(network.deliver(std::get<due::Arrival>(agenda.take())));
  network.heal(agenda);
  network.send(id, Side::caller, letter(2), agenda);  // under way when the first one is sent again
  network.flush(std::get<due::Flush>(agenda.take()), agenda);

  for (std::uint64_t const expected : {1u, 2u}) {
    auto const arrival = std::get<due::Arrival>(agenda.take());
    CHECK(network.deliver(arrival));
    CHECK(round_of(arrival) == expected);
  }
}

TEST_CASE("whoever calls a machine that loses its power meanwhile learns that nobody answers",
          "[sim]") {
  Agenda agenda(1, true);
  Network network(2);
  auto const id = network.dial(ProcessId{1}, 0, 1, Purpose::host, agenda);
  network.power_lost(1, agenda);
  REQUIRE(network.find(id));
  auto called = std::get<due::Dialed>(agenda.take());
  CHECK_FALSE(network.answer(called.connection, Reach::silent, {}, agenda));
  called = std::get<due::Dialed>(agenda.take());  // once more
  CHECK_FALSE(network.answer(called.connection, Reach::silent, {}, agenda));
  CHECK(std::holds_alternative<due::DialFailed>(agenda.take()));
}
