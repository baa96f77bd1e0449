// SPDX-License-Identifier: Apache-2.0
// The order of nodes, then the running sums that give each its global and role ranks.

#include "rendezvous/membership/rank_order.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace muster::membership {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  auto number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

// Newcomers: a rank that they were given (c10d takes it as a wish), then the topology, then names.
bool comes_before(NodeFacts const& a, NodeFacts const& b) {
  auto const wish = [](NodeFacts const& node) {
    return node.given_rank < 0 ? std::numeric_limits<std::int32_t>::max() : node.given_rank;
  };
  if (wish(a) != wish(b)) return wish(a) < wish(b);
  if (auto const order = compare_natural(a.order_key, b.order_key); order != 0) return order < 0;
  return compare_natural(a.host, b.host) < 0;
}

// Slots 0 .. n-1: survivors where they were as far as that slot still exists, the others in order.
std::vector<NodeFacts> place_sticky(std::span<NodeFacts const> nodes, Table const& previous) {
  std::vector<NodeFacts const*> slots(nodes.size(), nullptr), waiting;
  std::map<Incarnation, std::uint32_t> old_rank;
  for (auto const& row : previous) old_rank[row.node] = row.group_rank;
  for (auto const& node : nodes) {
    auto const found = old_rank.find(node.incarnation);
    if (found != old_rank.end() && found->second < slots.size() && !slots[found->second])
      slots[found->second] = &node;
    else
      waiting.push_back(&node);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](auto const* a, auto const* b) { return comes_before(*a, *b); });
  auto next = waiting.begin();
  std::vector<NodeFacts> ordered;
  for (auto const* slot : slots) ordered.push_back(slot ? *slot : **next++);
  return ordered;
}

Result<std::vector<NodeFacts>> place_given(std::span<NodeFacts const> nodes) {
  std::vector<NodeFacts const*> slots(nodes.size(), nullptr);
  for (auto const& node : nodes) {
    auto const rank = static_cast<std::size_t>(node.given_rank);
    if (node.given_rank < 0 || rank >= slots.size() || slots[rank])
      return Error{Errc::bad_input,
                   "node rank " + std::to_string(node.given_rank) + " of host " + node.host +
                       " does not fit " + std::to_string(nodes.size()) + " nodes",
                   "give the nodes --node-rank=0 to " + std::to_string(nodes.size() - 1)};
    slots[rank] = &node;
  }
  std::vector<NodeFacts> ordered;
  for (auto const* slot : slots) ordered.push_back(*slot);
  return ordered;
}

struct Digest {
  std::uint64_t state = 0xcbf29ce484222325ULL;
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(number >> shift));
  }
  void add(std::string_view text) {
    add(text.size());
    for (char const c : text) byte(static_cast<std::uint8_t>(c));
  }
  void byte(std::uint8_t b) { state = (state ^ b) * 0x100000001b3ULL; }
};

}  // namespace

int compare_natural(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      auto const x = take_number(a), y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (int const order = x.compare(y); order != 0) return order;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front() ? -1 : 1;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

Result<Table> order_ranks(std::span<NodeFacts const> nodes, Table const& previous,
                          bool given_ranks) {
  std::vector<NodeFacts> ordered;
  if (given_ranks) {
    MUSTER_TRY(ordered, place_given(nodes));
  } else {
    ordered = place_sticky(nodes, previous);
  }
  Table table;
  std::uint32_t rank = 0;
  std::map<std::string, std::uint32_t> role_sizes;
  for (auto const& node : ordered) {
    auto& role_size = role_sizes[node.role];
    table.push_back({node.incarnation, node.host, node.address, "",
                     static_cast<std::uint32_t>(table.size()), rank, node.local_world_size,
                     role_size, 0});
    rank += node.local_world_size;
    role_size += node.local_world_size;
  }
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i].role_world_size = role_sizes[ordered[i].role];
  return table;
}

std::uint64_t digest_of(Table const& table) {
  Digest digest;
  for (auto const& row : table) {
    digest.add(row.node.value);
    digest.add(row.host);
    digest.add(row.address);
    digest.add(row.interface);
    for (auto const number : {row.group_rank, row.rank_base, row.local_world_size,
                              row.role_rank_base, row.role_world_size})
      digest.add(number);
  }
  return digest.state;
}

std::uint32_t world_size_of(Table const& table) {
  return table.empty() ? 0 : table.back().rank_base + table.back().local_world_size;
}

}  // namespace muster::membership
