// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/workers_store.hpp"

#include <algorithm>
#include <charconv>

namespace muster::torchrun {
namespace {

constexpr std::size_t kLongestAddress = 1'024;

bool has_member(Seat const& seat, NodeDesc const& node) {
  return std::find(seat.members.begin(), seat.members.end(), node) != seat.members.end();
}

template <class T>
std::optional<T> read_number(std::string_view text) {
  T number{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

StorePlan plan_store(Seat const& seat, std::optional<WorkersStore> const& earlier) {
  StorePlan plan;
  auto const& self = seat.members[seat.rank];
  auto const goes_on = earlier && earlier->owner && has_member(seat, *earlier->owner);
  plan.renews_own = goes_on && *earlier->owner == self;
  plan.clears_earlier = goes_on && earlier->owner->local_id != kMusterId;
  if (seat.rank == 0) plan.place = goes_on ? StorePlan::Place::earlier : StorePlan::Place::own;
  return plan;
}

std::optional<NodeDesc> owner_by_address(Seat const& seat, std::string const& address) {
  std::optional<NodeDesc> owner;
  for (auto const& node : seat.members)
    if (node.addr == address && node.local_id != kMusterId && (!owner || node < *owner))
      owner = node;
  return owner;
}

std::optional<std::uint16_t> read_port(std::string const& text) {
  auto const port = read_number<std::uint16_t>(text);
  return port && *port != 0 ? port : std::nullopt;
}

std::string write_owner(NodeDesc const& owner) {
  return std::to_string(owner.pid) + " " + std::to_string(owner.local_id) + " " + owner.addr;
}

std::optional<NodeDesc> read_owner(std::string const& text) {
  auto const first = text.find(' ');
  auto const second = first == std::string::npos ? first : text.find(' ', first + 1);
  if (second == std::string::npos || text.size() > kLongestAddress) return std::nullopt;
  std::string_view const view = text;
  auto const pid = read_number<std::int64_t>(view.substr(0, first));
  auto const id = read_number<std::int64_t>(view.substr(first + 1, second - first - 1));
  if (!pid || !id) return std::nullopt;
  return NodeDesc{text.substr(second + 1), *pid, *id};
}

}  // namespace muster::torchrun
