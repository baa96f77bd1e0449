// SPDX-License-Identifier: Apache-2.0
// Which channel each happening belongs to, and what it is called.

#include "rendezvous/sim/channels.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/hasher.hpp"

#include <algorithm>
#include <array>

namespace muster::sim {
namespace {

ConnectionNames names_of_connections(World const& world) {
  ConnectionNames names;
  std::uint64_t nth = 0;
  ProcessId caller;
  for (auto const& [id, connection] : world.network.connections()) {
    nth = id.caller == caller ? nth + 1 : 1;
    caller = id.caller;
    names.emplace(id, std::uint64_t{id.caller.value} << 32 | nth);
  }
  return names;
}

// Tells channels of one history apart: kind, and whose or which connection.
using Origin = std::array<std::uint64_t, 3>;

constexpr std::uint64_t kQueue = 1u << 8;  // timers stand alone, each a channel of its own

std::uint64_t number_of(ConnectionId id) {
  return std::uint64_t{id.caller.value} << 32 | id.nth;
}

Origin origin_of(Due const& due) {
  auto const kind = static_cast<std::uint64_t>(due.what.index()) | kQueue;
  return std::visit(
      Overload{
          [&](due::Arrival const& d) {
            return Origin{kind, number_of(d.connection), std::uint64_t{d.at == Side::callee}};
          },
          [&](due::OwnLetter const& d) {
            return Origin{kind, std::uint64_t{d.process.value}, std::uint64_t{d.to_host}};
          },
          [&](due::Notice const& d) {
            return Origin{kind, std::uint64_t{d.process.value}, 0};
          },
          [&](auto const&) {
            return Origin{kind & ~kQueue, due.number, 0};
          },
      },
      due.what);
}

}  // namespace

View view_of(World const& world) {
  View view;
  view.names = names_of_connections(world);
  std::map<Origin, std::vector<Due const*>> queues;
  for (auto const& due : world.agenda.pending()) queues[origin_of(due)].push_back(&due);
  for (auto& [origin, due] : queues) {
    std::sort(due.begin(), due.end(), [](auto const* a, auto const* b) {
      return a->at != b->at ? a->at < b->at : a->number < b->number;
    });
    Hasher name(world.moment(), view.names), content(world.moment(), view.names);
    for (auto const* one : due) {
      content.put(std::max(one->at, world.moment()));
      content.put(one->what);
    }
    name.add(origin[0]);
    if (auto const* arrival = std::get_if<due::Arrival>(&due.front()->what))
      name.put(arrival->connection), name.add(origin[2]);
    else if (origin[0] & kQueue)
      name.add(origin[1]), name.add(origin[2]);
    else
      name.put(content.result());
    view.channels.push_back({name.result().low, std::move(due), content.result()});
  }
  std::sort(view.channels.begin(), view.channels.end(),
            [](Channel const& a, Channel const& b) { return a.name < b.name; });
  return view;
}

}  // namespace muster::sim
