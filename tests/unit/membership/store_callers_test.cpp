// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/store_callers.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace muster;
using namespace muster::membership;

namespace {

using Addresses = std::vector<std::string>;

struct Bench {
  Table table;
  Roster members;

  Member& add(std::string address, std::string seen_from) {
    Incarnation const node{members.size() + 1};
    TableRow row;
    row.node = node;
    row.address = std::move(address);
    table.push_back(row);
    Member member;
    member.facts.incarnation = node;
    member.facts.address = member.seen_from = std::move(seen_from);
    members.put(node, std::move(member));
    return members.at(node);
  }
  Addresses callers() const { return store_callers(table, members); }
};

}  // namespace

TEST_CASE("a node may call by the address of the round, those it offers, and that it is seen at",
          "[membership]") {
  Bench bench;
  auto& translated = bench.add("10.78.0.1", "192.0.2.7");
  translated.facts.address = "203.0.113.1";
  translated.facts.networks = {{"eth0", "10.77.0.1", 24, false}, {"eth0", "fd77::1", 64, false}};
  bench.add("10.78.0.2", "10.78.0.2");
  CHECK(bench.callers() ==
        Addresses{"10.77.0.1", "10.78.0.1", "10.78.0.2", "192.0.2.7", "203.0.113.1", "fd77::1"});
}

TEST_CASE("neither a bridge of containers nor a name is on the list", "[membership]") {
  Bench bench;
  bench.add("head", "10.0.0.1").facts.networks = {{"docker0", "172.17.0.1", 16, true}};
  CHECK(bench.callers() == Addresses{"10.0.0.1"});
  bench.members.erase(Incarnation{1});  // known by its row alone
  CHECK(bench.callers().empty());
}

TEST_CASE("a list for ten thousand nodes of many networks fits one message", "[membership]") {
  Bench bench;
  for (int i = 0; i < 10'000; ++i) {
    auto const host = std::to_string(i / 250) + "." + std::to_string(i % 250);
    auto& member = bench.add("10.1." + host, "10.2." + host);
    for (int j = 0; j < 64; ++j)
      member.facts.networks.push_back({"e", "10." + std::to_string(j + 3) + "." + host, 8, false});
  }
  auto const callers = bench.callers();
  std::size_t bytes = 0;
  for (auto const& each : callers) bytes += each.size() + 2;
  CHECK(bytes < (std::size_t{2} << 20));
  for (auto const& row : bench.table)  // what everybody needs is never left out
    if (!std::binary_search(callers.begin(), callers.end(), row.address)) FAIL(row.address);
}

TEST_CASE("a node's own addresses are told from one that only others see", "[membership]") {
  NodeFacts facts;
  facts.address = "10.0.0.1";
  facts.networks = {{"eth0", "fd77::1", 64, false}, {"docker0", "172.17.0.1", 16, true}};
  CHECK(is_own_address(facts, "10.0.0.1"));
  CHECK(is_own_address(facts, "fd77:0::1"));
  CHECK(is_own_address(facts, "::ffff:127.0.0.1"));
  CHECK(is_own_address(facts, ""));  // in this process
  CHECK_FALSE(is_own_address(facts, "172.17.0.1"));
  CHECK_FALSE(is_own_address(facts, "192.0.2.1"));
}
