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

Record record_of(std::uint64_t voters) {
  Record record;
  record.host = Incarnation{1};
  for (std::uint64_t i = 1; i <= voters; ++i) record.voters.push_back(Incarnation{i});
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

TEST_CASE("up to 31 nodes all vote, beyond that 31 spread over the ranks", "[membership]") {
  Table table;
  for (std::uint64_t i = 0; i < 31; ++i) table.push_back({Incarnation{i}, "", "", 0, 0, 1, 0, 1});
  CHECK(choose_voters(table).size() == 31);
  for (std::uint64_t i = 31; i < 310; ++i) table.push_back({Incarnation{i}, "", "", 0, 0, 1, 0, 1});
  auto const voters = choose_voters(table);
  CHECK(voters.size() == 31);
  CHECK(voters[0] == Incarnation{0});
  CHECK(voters[30] == Incarnation{300});
  CHECK(choose_voters({}).empty());
}
