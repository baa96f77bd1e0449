// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/rank_order.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::membership;

namespace {

NodeFacts node(std::uint64_t id, std::string host, std::uint32_t workers = 1,
               std::string role = "default") {
  NodeFacts facts;
  facts.incarnation = Incarnation{id};
  facts.host = std::move(host);
  facts.local_world_size = workers;
  facts.role = std::move(role);
  return facts;
}

std::vector<std::string> hosts(Table const& table) {
  std::vector<std::string> names;
  for (auto const& row : table) names.push_back(row.host);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("names are compared with their numbers as numbers", "[membership]") {
  CHECK(compare_natural("node2", "node10") < 0);
  CHECK(compare_natural("node10", "node2") > 0);
  CHECK(compare_natural("a01", "a1") == 0);
  CHECK(compare_natural("rack1-node9", "rack1-node10") < 0);
  CHECK(compare_natural("a", "ab") < 0);
  CHECK(compare_natural("", "") == 0);
  CHECK(compare_natural("n99999999999999999999998", "n99999999999999999999999") < 0);
}

TEST_CASE("newcomers are ranked by name, equals by arrival", "[membership]") {
  std::vector<NodeFacts> const nodes{node(1, "n10"), node(2, "n2"), node(3, "n2")};
  auto const table = order_ranks(nodes, {}, false);
  REQUIRE(table);
  CHECK((*table)[0].node == Incarnation{2});
  CHECK((*table)[1].node == Incarnation{3});
  CHECK((*table)[2].node == Incarnation{1});
}

TEST_CASE("survivors keep their ranks and newcomers fill the holes", "[membership]") {
  std::vector<NodeFacts> const before{node(1, "c"), node(2, "d"), node(3, "e")};
  auto const old = order_ranks(before, {}, false);
  REQUIRE(hosts(*old) == Names{"c", "d", "e"});
  std::vector<NodeFacts> const after{node(1, "c"), node(3, "e"), node(9, "a")};
  CHECK(hosts(*order_ranks(after, *old, false)) == Names{"c", "a", "e"});
  std::vector<NodeFacts> const fewer{node(1, "c"), node(3, "e")};  // rank 2 does not exist any more
  CHECK(hosts(*order_ranks(fewer, *old, false)) == Names{"c", "e"});
}

TEST_CASE("worker ranks are running sums, also within a role", "[membership]") {
  std::vector<NodeFacts> const nodes{node(1, "a", 2, "x"), node(2, "b", 3, "y"),
                                     node(3, "c", 4, "x")};
  auto const table = order_ranks(nodes, {}, false);
  REQUIRE(table);
  CHECK((*table)[2].rank_base == 5);
  CHECK((*table)[2].role_rank_base == 2);
  CHECK((*table)[2].role_world_size == 6);
  CHECK((*table)[1].role_rank_base == 0);
  CHECK((*table)[1].role_world_size == 3);
  CHECK(world_size_of(*table) == 9);
}

TEST_CASE("given ranks are obeyed and must be dense", "[membership]") {
  auto a = node(1, "a"), b = node(2, "b");
  a.given_rank = 1;
  b.given_rank = 0;
  CHECK(hosts(*order_ranks(std::vector{a, b}, {}, true)) == Names{"b", "a"});
  b.given_rank = 1;
  CHECK_FALSE(order_ranks(std::vector{a, b}, {}, true));
  b.given_rank = 2;
  CHECK(order_ranks(std::vector{a, b}, {}, true).error().what.find("node rank 2") !=
        std::string::npos);
}

TEST_CASE("a digest changes with each field of the table", "[membership]") {
  std::vector<NodeFacts> const nodes{node(1, "a", 2), node(2, "b", 3)};
  auto table = *order_ranks(nodes, {}, false);
  auto const digest = digest_of(table);
  CHECK(digest == digest_of(table));
  table[1].address = "10.0.0.2";
  CHECK(digest != digest_of(table));
  table[1].address.clear();
  std::swap(table[0], table[1]);
  CHECK(digest != digest_of(table));
}
