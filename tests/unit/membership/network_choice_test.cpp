// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/network_choice.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::membership;

namespace {

using Nodes = std::vector<NodeReach>;
using Choice = std::vector<ChosenNetwork>;

NodeNetwork net(std::string interface, std::string address, std::uint8_t bits = 24) {
  return {std::move(interface), std::move(address), bits, false};
}

NodeNetwork bridge(std::string interface, std::string address, std::uint8_t bits = 16) {
  return {std::move(interface), std::move(address), bits, true};
}

Choice choose(Nodes const& nodes) {
  auto const choice = choose_networks(nodes);
  REQUIRE(choice);
  return *choice;
}

// The agent that hosts the rendezvous itself, and one that called it.
NodeReach beside(std::string host, std::vector<NodeNetwork> networks) {
  return {std::move(host), "127.0.0.1", "", std::move(networks)};
}

NodeReach caller(std::string host, std::string from, std::string to,
                 std::vector<NodeNetwork> networks) {
  return {std::move(host), std::move(from), std::move(to), std::move(networks)};
}

}  // namespace

TEST_CASE("nodes of one machine that met on loopback stay there", "[membership]") {
  std::vector<NodeNetwork> const networks{net("eth0", "10.0.0.1")};
  auto const here = ChosenNetwork{"", "127.0.0.1"};
  CHECK(choose({beside("a", networks), caller("a", "127.0.0.1", "127.0.0.1", networks)}) ==
        Choice{here, here});
  CHECK(choose({beside("a", networks)}) == Choice{here});
  CHECK(choose({caller("a", "::1", "::1", {}), beside("a", {})}) ==
        Choice{{"", "::1"}, {"", "::1"}});
}

TEST_CASE("nodes of one machine that met at its address use it, and need no interface",
          "[membership]") {
  std::vector<NodeNetwork> const networks{net("eth0", "10.0.0.1")};
  CHECK(choose({beside("a", networks), caller("a", "10.0.0.1", "10.0.0.1", networks)}) ==
        Choice{{"", "10.0.0.1"}, {"", "10.0.0.1"}});
}

TEST_CASE("two networks and a bridge with one address on both nodes: the one that was dialled",
          "[membership]") {
  Nodes const nodes{
      beside("a", {bridge("docker0", "172.17.0.1"), net("mgmt0", "192.168.5.1"),
                   net("ib0", "10.1.0.1")}),
      caller("b", "10.1.0.2", "10.1.0.1",
             {net("eno1", "192.168.5.2"), bridge("docker0", "172.17.0.1"), net("ib3", "10.1.0.2")}),
  };
  CHECK(choose(nodes) == Choice{{"ib0", "10.1.0.1"}, {"ib3", "10.1.0.2"}});
}

TEST_CASE("what looks shared but has one address twice is no network", "[membership]") {
  // A bridge that nothing tells from a network card, and virtual machines behind one translator.
  Nodes const nodes{
      caller("a", "10.2.0.5", "10.9.0.1", {net("x0", "10.0.2.15"), net("e0", "10.2.0.5")}),
      caller("b", "10.3.0.5", "10.9.0.1", {net("x0", "10.0.2.15"), net("e0", "10.3.0.5")}),
  };
  CHECK(choose(nodes) == Choice{{"e0", "10.2.0.5"}, {"e0", "10.3.0.5"}});
}

TEST_CASE("nodes of routed subnets are taken where they reached the rendezvous", "[membership]") {
  Nodes const nodes{
      beside("a", {net("lo1", "100.64.0.1", 32), net("e0", "10.1.0.1", 31)}),
      caller("b", "10.1.0.3", "10.1.0.1",
             {net("lo1", "100.64.0.2", 32), net("e1", "10.1.0.3", 31)}),
      caller("c", "203.0.113.9", "10.1.0.1", {net("e0", "192.168.0.7")}),  // translated
  };
  CHECK(choose(nodes) == Choice{{"e0", "10.1.0.1"}, {"e1", "10.1.0.3"}, {"", "203.0.113.9"}});
}

TEST_CASE("an other network that all share is better than routes", "[membership]") {
  Nodes const nodes{
      caller("a", "10.1.0.5", "10.9.0.1", {net("m", "10.1.0.5"), net("d", "10.70.0.1")}),
      caller("b", "10.2.0.5", "10.9.0.1", {net("m", "10.2.0.5"), net("d", "10.70.0.2")}),
  };
  CHECK(choose(nodes) == Choice{{"d", "10.70.0.1"}, {"d", "10.70.0.2"}});
}

TEST_CASE("of two shared networks the first of the kernel counts, if neither was dialled",
          "[membership]") {
  Nodes const nodes{
      caller("a", "10.1.0.5", "10.9.0.1",
             {net("m", "10.1.0.5"), net("d", "10.70.0.1"), net("e", "10.80.0.1")}),
      caller("b", "10.2.0.5", "10.9.0.1",
             {net("e", "10.80.0.2"), net("d", "10.70.0.2"), net("m", "10.2.0.5")}),
  };
  CHECK(choose(nodes) == Choice{{"d", "10.70.0.1"}, {"d", "10.70.0.2"}});
}

TEST_CASE("the family of the endpoint counts in a dual stack", "[membership]") {
  auto const dual = [](int i) {
    auto const n = std::to_string(i);
    return std::vector{net("e0", "10.0.0." + n), net("e0", "fd77::" + n, 64)};
  };
  CHECK(choose({beside("a", dual(1)), caller("b", "fd77::2", "fd77::1", dual(2))}) ==
        Choice{{"e0", "fd77::1"}, {"e0", "fd77::2"}});
  CHECK(choose({beside("a", dual(1)), caller("b", "10.0.0.2", "10.0.0.1", dual(2))}) ==
        Choice{{"e0", "10.0.0.1"}, {"e0", "10.0.0.2"}});
}

TEST_CASE("nodes without IPv4 meet over IPv6", "[membership]") {
  CHECK(choose({beside("a", {net("e0", "fd77::1", 64)}),
                caller("b", "fd77::2", "fd77::1", {net("e0", "fd77::2", 64)})}) ==
        Choice{{"e0", "fd77::1"}, {"e0", "fd77::2"}});
  // Of two families that the nodes came by, the one that all have.
  CHECK(choose(
            {caller("a", "10.0.0.1", "10.9.0.1", {net("e0", "10.0.0.1"), net("e0", "fd01::1", 64)}),
             caller("b", "fd02::1", "fd09::1", {net("e0", "fd02::1", 64)})}) ==
        Choice{{"e0", "fd01::1"}, {"e0", "fd02::1"}});
}

TEST_CASE("link-local addresses are used by their interface", "[membership]") {
  CHECK(choose({beside("a", {net("e0", "fe80::1", 64)}),
                caller("b", "fe80::2%e5", "fe80::1%e0", {net("e5", "fe80::2", 64)})}) ==
        Choice{{"e0", "fe80::1"}, {"e5", "fe80::2"}});
}

TEST_CASE("a bridge that the rendezvous was reached by is a network", "[membership]") {
  Nodes const nodes{
      beside("a", {bridge("virbr0", "192.168.122.1", 24), bridge("br0", "10.0.0.1", 24)}),
      caller("b", "10.0.0.2", "10.0.0.1", {bridge("br0", "10.0.0.2", 24)}),
  };
  CHECK(choose(nodes) == Choice{{"br0", "10.0.0.1"}, {"br0", "10.0.0.2"}});
}

TEST_CASE("an address that the node gave is obeyed, be it a name", "[membership]") {
  Nodes const nodes{
      caller("a", "a.example", "10.0.0.9", {}),
      caller("b", "10.0.0.2", "10.0.0.9", {net("e0", "10.0.0.2")}),
  };
  CHECK(choose(nodes) == Choice{{"", "a.example"}, {"e0", "10.0.0.2"}});
}

TEST_CASE("nodes that have no network in common are both named", "[membership]") {
  auto const choice = choose_networks(Nodes{
      caller("a", "10.0.0.1", "10.9.0.1", {net("e0", "10.0.0.1")}),
      caller("b", "fd02::1", "fd09::1", {net("e0", "fd02::1", 64)}),
  });
  REQUIRE_FALSE(choice);
  CHECK(choice.error().code == Errc::refused);
  CHECK(choice.error().what == "no network leads from host a (10.0.0.1) to host b (fd02::1)");
}

TEST_CASE("a node with loopback and a bridge only has no way to others", "[membership]") {
  auto const choice = choose_networks(Nodes{
      caller("a", "10.0.0.1", "10.0.0.9", {net("e0", "10.0.0.1")}),
      caller("b", "127.0.0.1", "127.0.0.1", {bridge("docker0", "172.17.0.1")}),
  });
  REQUIRE_FALSE(choice);
  CHECK_THAT(choice.error().what,
             Catch::Contains("host b (loopback and bridges only)") && Catch::Contains("host a"));
}

TEST_CASE("ten thousand nodes of one network choose it", "[membership]") {
  Nodes nodes;
  for (int i = 0; i < 10'000; ++i) {
    auto const address = "10.0." + std::to_string(i / 200) + "." + std::to_string(i % 200 + 1);
    nodes.push_back(caller("n" + std::to_string(i), address, "10.0.0.1",
                           {bridge("docker0", "172.17.0.1"), net("e0", address, 16)}));
  }
  auto const choice = choose(nodes);
  CHECK(choice.front() == ChosenNetwork{"e0", "10.0.0.1"});
  CHECK(choice.back() == ChosenNetwork{"e0", "10.0.49.200"});
}
