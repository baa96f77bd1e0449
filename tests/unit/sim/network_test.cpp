// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/sim/network.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::sim;
using namespace std::chrono_literals;

namespace {

constexpr ProcessId kCaller{1}, kCallee{2};

// Two nodes, and what arrived at each side of the one connection between them.
struct Wire {
  explicit Wire(std::uint64_t seed) : agenda(seed, false) {
    network.weather.most_delay = 50ms;
    id = network.dial(kCaller, 0, 1, Purpose::host, agenda);
  }

  void say(Side from, std::uint64_t number) {
    control::Letter letter;
    letter.header.request = number;
    network.send(id, from, std::make_shared<control::Letter const>(letter), agenda);
  }
  void run(Duration time) {
    auto const end = agenda.moment() + time;
    while (!agenda.empty() && agenda.next_at() <= end) {
      auto const what = agenda.take();
      if (auto const* dialed = std::get_if<due::Dialed>(&what))
        answered = network.answer(dialed->connection, reach, kCallee, agenda);
      if (std::holds_alternative<due::DialFailed>(what)) failed_at = agenda.moment();
      if (auto const* flush = std::get_if<due::Flush>(&what)) network.flush(*flush, agenda);
      if (auto const* arrival = std::get_if<due::Arrival>(&what)) take(*arrival);
    }
  }
  void take(due::Arrival const& arrival) {
    if (!network.deliver(arrival)) return;
    auto& list = arrived[static_cast<std::size_t>(arrival.at)];
    list.push_back(arrival.parcel ? arrival.parcel->header.request : 0);
    if (!arrival.parcel) network.ended(id, arrival.at);
  }

  Agenda agenda;
  Network network{2};
  Reach reach = Reach::listening;
  ConnectionId id;
  bool answered = false;
  std::optional<TimePoint> failed_at;
  std::array<std::vector<std::uint64_t>, 2> arrived;  // 0: the end of the stream
};

std::vector<std::uint64_t> const kThree{1, 2, 3};

}  // namespace

TEST_CASE("a connection keeps its order, whatever the delays") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Wire wire(seed);
    wire.network.weather.loss = 0.3;
    wire.run(30s);
    REQUIRE(wire.answered);
    for (auto const number : kThree) wire.say(Side::caller, number);
    wire.run(60s);
    CHECK(wire.arrived[1] == kThree);
  }
}

TEST_CASE("nobody listens: refused at once; nobody is there: given up after three seconds") {
  Wire refused(1);
  refused.reach = Reach::closed;
  refused.run(10s);
  CHECK(*refused.failed_at - kBegin <= 100ms);
  auto slow = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Wire silent(seed);
    silent.reach = Reach::silent;
    silent.run(10s);
    REQUIRE(silent.failed_at);
    if (*silent.failed_at - kBegin >= 3s) ++slow;
  }
  CHECK(slow > 25);
  CHECK(slow < 50);  // now and then a router says so
}

TEST_CASE("a cut link holds back, in one direction, and loses nothing") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Wire wire(seed);
    wire.run(1s);
    wire.network.cut(0, 1, wire.agenda.moment());
    for (auto const number : kThree) {
      wire.say(Side::caller, number);
      wire.say(Side::callee, number);
    }
    wire.run(5s);
    CHECK(wire.arrived[1].empty());
    CHECK(wire.arrived[0] == kThree);
    wire.network.heal(wire.agenda);
    wire.run(10s);
    CHECK(wire.arrived[1] == kThree);
  }
}

TEST_CASE("the end of a stream comes after what was said before it") {
  Wire wire(3);
  wire.run(1s);
  wire.say(Side::caller, 1);
  wire.network.hang_up(wire.id, Side::caller, wire.agenda);
  wire.say(Side::caller, 2);  // too late
  wire.run(1s);
  CHECK(wire.arrived[1] == std::vector<std::uint64_t>{1, 0});
  CHECK(wire.network.find(wire.id) == nullptr);
}

TEST_CASE("a broken connection ends on both sides, with what was under way or without") {
  auto lost = 0, kept = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Wire wire(seed);
    wire.run(1s);
    wire.say(Side::caller, 1);
    wire.network.break_off(wire.id, wire.agenda);
    wire.run(2s);
    REQUIRE(!wire.arrived[0].empty());
    REQUIRE(!wire.arrived[1].empty());
    CHECK(wire.arrived[0].back() == 0);
    CHECK(wire.arrived[1].back() == 0);
    ++(wire.arrived[1].size() == 1 ? lost : kept);
  }
  CHECK(lost > 0);
  CHECK(kept > 0);
}

TEST_CASE("a machine without power tells nobody; the others' kernels find out") {
  Wire wire(5);
  wire.run(1s);
  wire.network.power_lost(1, wire.agenda);
  wire.run(4s);
  CHECK(wire.arrived[0].empty());
  wire.run(20s);
  CHECK(wire.arrived[0] == std::vector<std::uint64_t>{0});
}
