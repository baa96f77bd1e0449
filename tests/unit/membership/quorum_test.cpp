// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/quorum.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::membership;

namespace {

std::set<Incarnation> ids(std::initializer_list<std::uint64_t> values) {
  std::set<Incarnation> set;
  for (auto const value : values) set.insert(Incarnation{value});
  return set;
}

Electorate record_of(std::uint64_t voters) {
  Electorate record;
  record.host = Incarnation{1};
  for (std::uint64_t i = 1; i <= voters; ++i) record.voters.push_back({Incarnation{i}, "", "", 0});
  return record;
}

}  // namespace

TEST_CASE("more than half of the voters is a quorum", "[membership]") {
  auto const base = record_of(5);
  CHECK(has_quorum(base, ids({2, 3, 4}), {}));
  CHECK_FALSE(has_quorum(base, ids({1, 2}), {}));
}

TEST_CASE("exactly half is a quorum only with the host", "[membership]") {
  auto const base = record_of(4);
  CHECK(has_quorum(base, ids({1, 2}), {}));
  CHECK_FALSE(has_quorum(base, ids({3, 4}), {}));
  CHECK(has_quorum(record_of(2), ids({1}), {}));
  CHECK_FALSE(has_quorum(record_of(2), ids({2}), {}));
}

TEST_CASE("two disjoint halves are never both quorums", "[membership]") {
  for (std::uint64_t n = 1; n <= 8; ++n)
    for (std::uint64_t split = 0; split < (1u << n); ++split) {
      std::set<Incarnation> left, right;
      for (std::uint64_t i = 0; i < n; ++i)
        ((split >> i) & 1 ? left : right).insert(Incarnation{i + 1});
      CHECK_FALSE((has_quorum(record_of(n), left, {}) && has_quorum(record_of(n), right, {})));
    }
}

TEST_CASE("only a proven death takes a voter out of the count", "[membership]") {
  auto const base = record_of(5);
  CHECK_FALSE(has_quorum(base, ids({1, 2}), {}));
  CHECK(has_quorum(base, ids({1, 2}), ids({5})));  // half of four, with the host
  CHECK_FALSE(has_quorum(base, ids({2, 3}), ids({5})));
  CHECK(has_quorum(base, ids({2, 3}), ids({4, 5})));
}

TEST_CASE("strangers do not count", "[membership]") {
  CHECK_FALSE(has_quorum(record_of(3), ids({7, 8, 9}), {}));
}

TEST_CASE("up to 31 nodes all vote, beyond that 31 spread over the ranks and the host",
          "[membership]") {
  Table table;
  Seats seats;
  auto const grow = [&](std::uint64_t to) {
    for (auto i = table.size(); i < to; ++i) {
      table.push_back({Incarnation{i}, "", "", "", 0, 0, 1, 0, 1});
      seats.push_back({Incarnation{i}, "", "", 0});
    }
  };
  grow(31);
  CHECK(choose_voters(table, seats, Incarnation{3}).size() == 31);
  grow(310);
  auto const voters = choose_voters(table, seats, Incarnation{7});
  CHECK(voters.size() == 31);
  CHECK(voters[0].node == Incarnation{0});
  CHECK(voters[29].node == Incarnation{290});
  CHECK(voters[30].node == Incarnation{7});
  CHECK(choose_voters(table, seats, Incarnation{999})[30].node == Incarnation{300});
  CHECK(choose_voters({}, {}, Incarnation{1}).empty());
}

TEST_CASE("a host is as certain as the slowest of its fastest majority", "[membership]") {
  using std::chrono::seconds;
  auto const base = record_of(5);
  auto const at = [](int second) { return TimePoint{seconds{second}}; };
  auto const confirmed = [](Electorate const& by, Confirmations const& last) {
    return confirmed_by_quorum(by.host, by.voters, last, {});
  };
  Confirmations last{{Incarnation{1}, at(9)}, {Incarnation{2}, at(8)}};
  CHECK(confirmed(base, last) == TimePoint::min());
  last[Incarnation{4}] = at(3);
  last[Incarnation{9}] = at(99);  // a stranger
  CHECK(confirmed(base, last) == at(3));
  last[Incarnation{5}] = at(7);
  CHECK(confirmed(base, last) == at(7));
  CHECK(confirmed(record_of(2), {{Incarnation{1}, at(5)}}) == at(5));
  // Who is proven dead counts neither way.
  CHECK(confirmed_by_quorum(base.host, base.voters, last, ids({1, 2})) == at(3));
  // A host without a vote breaks a tie of those who have one.
  auto guest = record_of(2);
  guest.host = Incarnation{7};
  CHECK(confirmed(guest, {{Incarnation{2}, at(4)}}) == TimePoint::min());
  CHECK(confirmed(guest, {{Incarnation{2}, at(4)}, {Incarnation{7}, at(6)}}) == at(4));
}
