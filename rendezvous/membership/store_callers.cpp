// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/membership/store_callers.hpp"

#include "rendezvous/base/ip_address.hpp"

#include <algorithm>
#include <set>

namespace muster::membership {
namespace {

constexpr std::size_t kMostCallers = 50'000;  // 2 MB of a message's 4

}  // namespace

std::vector<std::string> store_callers(Table const& rows, Roster const& members) {
  std::set<std::string> callers;
  auto const add = [&callers](std::string const& address) {
    if (parse_ip(address)) callers.insert(address);
  };
  for (auto const& row : rows) {
    add(row.address);
    auto const found = members.find(row.node);
    if (found == members.end()) continue;
    add(found->second.facts.address);
    add(found->second.seen_from);
  }
  for (auto const& row : rows) {
    auto const found = members.find(row.node);
    if (found == members.end()) continue;
    for (auto const& network : found->second.facts.networks)
      if (!network.is_bridge && callers.size() < kMostCallers) add(network.address);
  }
  return {callers.begin(), callers.end()};
}

bool is_own_address(NodeFacts const& facts, std::string const& address) {
  auto const ip = parse_ip(address);
  if (!ip || is_loopback(*ip) || address == facts.address) return true;
  return std::any_of(facts.networks.begin(), facts.networks.end(), [&](auto const& network) {
    return !network.is_bridge && parse_ip(network.address) == ip;
  });
}

}  // namespace muster::membership
