// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/roster.hpp"

#include "rendezvous/base/random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>

using namespace muster;
using namespace muster::membership;

namespace {

template <class Predicate>
std::size_t counted(Roster const& roster, Predicate const& predicate) {
  return static_cast<std::size_t>(std::count_if(
      roster.begin(), roster.end(), [&](auto const& entry) { return predicate(entry.second); }));
}

}  // namespace

TEST_CASE("the counts are right whatever happens to the members", "[membership]") {
  Random random(7);
  Roster roster;
  constexpr bool Member::*kFlags[] = {&Member::here, &Member::seated, &Member::leaving};
  for (int i = 0; i < 5'000; ++i) {
    Incarnation const node{random.below(20)};
    Member member;
    member.here = random.below(3) != 0;
    member.seated = random.below(2) != 0;
    auto const what = random.below(4);
    if (what == 0) roster.erase(node);
    if (what == 1) roster.put(node, member);
    if (what > 1 && roster.contains(node))
      roster.mark(node, kFlags[random.below(3)], random.below(2) != 0);
    REQUIRE(roster.eligible() == counted(roster, [](auto const& m) { return m.is_eligible(); }));
    REQUIRE(roster.waiting() ==
            counted(roster, [](auto const& m) { return m.is_eligible() && !m.seated; }));
    REQUIRE(roster.absent() == counted(roster, [](auto const& m) { return !m.here; }));
    REQUIRE(roster.leaving() == counted(roster, [](auto const& m) { return m.leaving; }));
  }
}

TEST_CASE("a member is found by its node id and by its rank, the lowest that suits",
          "[membership]") {
  Roster roster;
  auto const put = [&roster](std::uint64_t node, std::string id, std::int32_t rank) {
    Member member;
    member.facts.node_id = std::move(id);
    member.facts.given_rank = rank;
    roster.put(Incarnation{node}, member);
  };
  auto const any = [](Member const&) { return true; };
  put(5, "pod", 3);
  put(4, "pod", 3);
  put(3, "", -1);
  CHECK(roster.with_node_id("pod", any) == Incarnation{4});
  CHECK(roster.with_rank(3, any) == Incarnation{4});
  roster.at(Incarnation{4}).connected = false;
  CHECK(roster.with_rank(3, [](Member const& m) { return m.connected; }) == Incarnation{5});
  CHECK_FALSE(roster.with_node_id("", any));
  CHECK_FALSE(roster.with_rank(-1, any));
  put(4, "other", 7);  // another process under the same incarnation: the old facts are forgotten
  roster.erase(Incarnation{5});
  CHECK_FALSE(roster.with_node_id("pod", any));
  CHECK_FALSE(roster.with_rank(3, any));
  CHECK(roster.with_rank(7, any) == Incarnation{4});
}
