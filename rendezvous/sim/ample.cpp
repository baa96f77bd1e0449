// SPDX-License-Identifier: Apache-2.0
// Events that commute with all others.

#include "rendezvous/sim/ample.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

bool is_lost_or_held(World const& world, Happening const& what) {
  auto const& network = world.network;
  if (auto const* call = std::get_if<due::Dialed>(&what)) {
    auto const* connection = network.find(call->connection);
    return connection && (!world.nodes[connection->to].powered ||
                          network.is_cut_either_way(connection->from, connection->to));
  }
  if (auto const* arrival = std::get_if<due::Arrival>(&what)) {
    auto const* connection = network.find(arrival->connection);
    return connection &&
           network.is_cut(connection->node(other(arrival->at)), connection->node(arrival->at));
  }
  return false;
}

bool mends(Fault const& fault) {
  return std::holds_alternative<fault::Start>(fault) || std::holds_alternative<fault::Heal>(fault);
}

}  // namespace

std::optional<std::uint64_t> ample_event(World const& world, View const& view) {
  std::optional<std::uint64_t> found;
  for (auto const& channel : view.channels) {
    auto const& first = *channel.due.front();
    if (first.at > world.moment()) continue;
    auto const& what = first.what;
    if (std::holds_alternative<due::Heal>(what) || std::holds_alternative<due::FaultStrikes>(what))
      return std::nullopt;
    if (!found && is_lost_or_held(world, what)) found = first.number;
  }
  return found;
}

bool may_mend(Plan const& plan, std::vector<Fault> const& faults) {
  return std::any_of(faults.begin(), faults.end(), mends) ||
         std::any_of(plan.at_moments.begin(), plan.at_moments.end(), [](MomentFault const& at) {
           return mends(at.what) || (at.undoing && mends(*at.undoing));
         });
}

}  // namespace muster::sim
