// SPDX-License-Identifier: Apache-2.0
// Three cases, in this order: all nodes on one machine, a subnet that all share, addresses that are
// routed to each other.

#include "rendezvous/membership/network_choice.hpp"

#include "rendezvous/base/ip_address.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

namespace muster::membership {
namespace {

struct Way {
  NodeNetwork const* network = nullptr;
  IpAddress ip;
};

struct Node {
  NodeReach const* given = nullptr;
  std::optional<IpAddress> reached;  // never loopback
  std::vector<Way> ways;             // that may lead to other machines
};

using Nodes = std::vector<Node>;
using Choice = std::vector<ChosenNetwork>;

bool is_loopback_text(std::string const& address) {
  auto const ip = parse_ip(address);
  return address.empty() || (ip && is_loopback(*ip));
}

std::optional<IpAddress> outside(std::string const& address) {
  auto ip = parse_ip(address);
  return ip && !is_loopback(*ip) ? ip : std::nullopt;
}

bool has_address(NodeReach const& node, IpAddress const& ip) {
  return std::any_of(node.networks.begin(), node.networks.end(),
                     [&](auto const& network) { return parse_ip(network.address) == ip; });
}

// Where the nodes dialled the rendezvous: each address once, in the order of those who did.
std::vector<IpAddress> dialled_by(std::span<NodeReach const> nodes) {
  std::vector<IpAddress> addresses;
  std::set<std::string_view> seen;
  for (auto const& node : nodes)
    if (seen.insert(node.dialled).second)
      if (auto const ip = outside(node.dialled)) addresses.push_back(*ip);
  return addresses;
}

// Who sits beside the rendezvous reaches it by loopback: for its peers it is where they dialled.
std::optional<IpAddress> reached_by_peers(NodeReach const& node,
                                          std::vector<IpAddress> const& dialled) {
  if (!is_loopback_text(node.address)) return outside(node.address);
  for (auto const& ip : dialled)
    if (node.networks.empty() || has_address(node, ip)) return ip;
  return std::nullopt;
}

// A bridge that the rendezvous was reached by leads outside, whatever it is called.
std::vector<Way> ways_of(NodeReach const& node, std::optional<IpAddress> const& reached) {
  std::vector<Way> ways;
  for (auto const& network : node.networks) {
    auto const ip = outside(network.address);
    if (ip && (!network.is_bridge || ip == reached)) ways.push_back({&network, *ip});
  }
  return ways;
}

Nodes look_at(std::span<NodeReach const> given) {
  Nodes nodes;
  auto const dialled = dialled_by(given);
  for (auto const& node : given) {
    auto const reached = reached_by_peers(node, dialled);
    nodes.push_back({&node, reached, ways_of(node, reached)});
  }
  return nodes;
}

bool on_one_machine(NodeReach const& a, NodeReach const& b) {
  return a.host == b.host && a.networks == b.networks;
}

bool all_on_one_machine(std::span<NodeReach const> nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](auto const& node) { return on_one_machine(node, nodes.front()); });
}

// Nothing but loopback is known of any node.
bool nobody_outside(Nodes const& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [](Node const& node) {
    return node.ways.empty() && is_loopback_text(node.given->address);
  });
}

Choice on_loopback(std::span<NodeReach const> nodes) {
  std::string address;
  for (auto const& node : nodes)
    for (auto const* seen : {&node.dialled, &node.address})
      if (address.empty()) address = *seen;
  if (address.empty()) address = "127.0.0.1";
  return Choice(nodes.size(), {{}, address});
}

// The way into the subnet of `shared`: that by which the rendezvous was reached, else the first.
Way const* way_into(Node const& node, Way const& shared) {
  Way const* first = nullptr;
  for (auto const& way : node.ways) {
    if (way.network->prefix_bits != shared.network->prefix_bits ||
        !same_subnet(way.ip, shared.ip, shared.network->prefix_bits))
      continue;
    if (way.ip == node.reached) return &way;
    if (!first) first = &way;
  }
  return first;
}

// Two machines with one address are in two networks that only look alike.
bool is_ambiguous(Nodes const& nodes, std::vector<Way const*> const& ways) {
  std::vector<std::size_t> order(ways.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return ways[a]->ip < ways[b]->ip; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    auto const a = order[i - 1], b = order[i];
    if (ways[a]->ip == ways[b]->ip && !on_one_machine(*nodes[a].given, *nodes[b].given))
      return true;
  }
  return false;
}

std::optional<std::vector<Way const*>> shared_ways(Nodes const& nodes, Way const& candidate) {
  std::vector<Way const*> ways;
  for (auto const& node : nodes) {
    auto const* way = way_into(node, candidate);
    if (!way) return std::nullopt;
    ways.push_back(way);
  }
  if (is_ambiguous(nodes, ways)) return std::nullopt;
  return ways;
}

bool endpoint_is_v6(Nodes const& nodes) {
  for (auto const& node : nodes)
    if (node.reached) return node.reached->is_v6;
  return false;
}

std::optional<std::vector<Way const*>> best_shared(Nodes const& nodes) {
  std::optional<std::vector<Way const*>> best;
  std::tuple<std::size_t, bool> best_rank;  // nodes that reached by it, then the right family
  auto const wants_v6 = endpoint_is_v6(nodes);
  for (auto const& candidate : nodes.front().ways) {
    auto ways = shared_ways(nodes, candidate);
    if (!ways) continue;
    std::size_t reached = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      reached += static_cast<std::size_t>((*ways)[i]->ip == nodes[i].reached);
    std::tuple const rank{reached, candidate.ip.is_v6 == wants_v6};
    if (best && rank <= best_rank) continue;
    best = std::move(ways);
    best_rank = rank;
  }
  return best;
}

// The node's address where nothing is shared; nothing if none is of that family.
std::optional<ChosenNetwork> routed_way(Node const& node, bool is_v6) {
  auto const& address = node.given->address;
  if (!is_loopback_text(address) && !parse_ip(address))
    return ChosenNetwork{{}, address};  // a name
  if (node.reached && node.reached->is_v6 == is_v6) {
    for (auto const& way : node.ways)
      if (way.ip == node.reached)
        return ChosenNetwork{way.network->interface, way.network->address};
    return ChosenNetwork{{}, to_string(*node.reached)};  // translated on its way
  }
  for (auto const& way : node.ways)
    if (way.ip.is_v6 == is_v6) return ChosenNetwork{way.network->interface, way.network->address};
  return std::nullopt;
}

std::string offered(Node const& node) {
  std::string text;
  for (auto const& way : node.ways) text += (text.empty() ? "" : ", ") + way.network->address;
  if (text.empty() && node.reached) text = to_string(*node.reached);
  return node.given->host + (text.empty() ? " (loopback and bridges only)" : " (" + text + ")");
}

Error no_way(Nodes const& nodes, std::size_t without, std::size_t with) {
  return {
      Errc::refused,
      "no network leads from host " + offered(nodes[with]) + " to host " + offered(nodes[without]),
      "name one that both have with --network=INTERFACE, SUBNET or ADDRESS, or the address "
      "that others reach with --local-addr"};
}

Result<Choice> choose_routed(Nodes const& nodes) {
  auto const wants_v6 = endpoint_is_v6(nodes);
  std::size_t with = 0, without = 0;
  for (auto const is_v6 : {wants_v6, !wants_v6}) {
    Choice choice;
    std::optional<std::size_t> lacking, having;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto way = routed_way(nodes[i], is_v6);
      auto& kind = way ? having : lacking;
      if (!kind) kind = i;
      if (way) choice.push_back(*std::move(way));
    }
    if (!lacking) return choice;
    if (is_v6 != wants_v6) continue;
    without = *lacking;
    with = having.value_or(without == 0 ? nodes.size() - 1 : 0);
  }
  return no_way(nodes, without, with);
}

}  // namespace

Result<Choice> choose_networks(std::span<NodeReach const> given) {
  if (given.empty()) return Choice{};
  auto const nodes = look_at(given);
  auto const together = all_on_one_machine(given);
  auto const reached_outside = [](Node const& node) { return node.reached.has_value(); };
  auto const by_loopback = std::none_of(nodes.begin(), nodes.end(), reached_outside);
  if ((together && by_loopback) || nobody_outside(nodes)) return on_loopback(given);

  Choice choice;
  if (auto const shared = best_shared(nodes)) {
    for (auto const* way : *shared)
      choice.push_back({way->network->interface, way->network->address});
  } else {
    MUSTER_TRY(choice, choose_routed(nodes));
  }
  if (together)
    for (auto& each : choice) each.interface.clear();  // no network is left, so none is to be named
  return choice;
}

}  // namespace muster::membership
