// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/complaints.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::net;
using namespace std::chrono_literals;

namespace {

TimePoint at(Duration time) {
  return TimePoint{time};
}

int shown_of(Complaints& complaints, int addresses, TimePoint now, int first = 0) {
  int shown = 0;
  for (int i = first; i < first + addresses; ++i)
    shown += complaints.shows(0, "10.0." + std::to_string(i), now) ? 1 : 0;
  return shown;
}

}  // namespace

TEST_CASE("each kind is said once for each address", "[net]") {
  Complaints complaints;
  CHECK(complaints.shows(0, "a", at(0s)));
  CHECK_FALSE(complaints.shows(0, "a", at(0s)));
  CHECK_FALSE(complaints.shows(0, "a", at(48h)));
  CHECK(complaints.shows(1, "a", at(0s)));
  CHECK(complaints.shows(0, "b", at(0s)));
}

TEST_CASE("a scan from everywhere is a few lines, and a few more later", "[net]") {
  Complaints complaints;
  CHECK(shown_of(complaints, 10'000, at(1s)) == 20);
  CHECK(shown_of(complaints, 10'000, at(1s)) == 0);
  CHECK(shown_of(complaints, 10'000, at(11s)) == 1);
  CHECK(shown_of(complaints, 10'000, at(100h)) == 20);
}

TEST_CASE("a line that was held back is shown when there is room", "[net]") {
  Complaints complaints;
  shown_of(complaints, 100, at(1s));
  CHECK_FALSE(complaints.shows(0, "late", at(1s)));
  CHECK(complaints.shows(0, "late", at(1h)));
}

TEST_CASE("what is remembered is bounded, and so are lines about who was forgotten", "[net]") {
  Complaints complaints;
  int shown = 0;
  for (int hour = 0; hour < 200; ++hour)
    shown += shown_of(complaints, 20, at(std::chrono::hours{hour}), hour * 20);
  CHECK(shown == 4'000);
  CHECK(shown_of(complaints, 4'000, at(200h)) <= 20);
}
