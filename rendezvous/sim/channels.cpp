// SPDX-License-Identifier: Apache-2.0
// Which channel each happening belongs to, and what it is called.

#include "rendezvous/sim/channels.hpp"

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/hasher.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

constexpr std::uint64_t kQueue = 1u << 8;  // timers stand alone, each a channel of its own

std::uint64_t number_of(ConnectionId id) {
  return std::uint64_t{id.caller.value} << 32 | id.nth;
}

bool is_of_connection(Origin const& origin) {
  return origin[0] == (Happening{due::Arrival{}}.index() | kQueue);
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

NodeIndex owner_of(World const& world, Happening const& what) {
  auto const node_of = [&](ProcessId process) {
    auto const found = world.processes.find(process);
    return found == world.processes.end() ? kNoNode : found->second.node;
  };
  auto const end_of = [&](ConnectionId id, Side side) {
    auto const* connection = world.network.find(id);
    return connection ? connection->node(side) : node_of(id.caller);
  };
  return std::visit(
      Overload{
          [&](due::Arrival const& d) { return end_of(d.connection, d.at); },
          [&](due::Flush const& d) { return end_of(d.connection, d.at); },
          [&](due::Dialed const& d) {
            auto const* call = world.network.find(d.connection);
            auto const node = node_of(d.connection.caller);
            auto const for_word = call && call->purpose == Purpose::last_word;
            return for_word ? guardian_of(node) : node;
          },
          [&](due::StartAgent const& d) { return d.node; },
          [&]<class D>(D const& d) {
            if constexpr (requires { d.process; })
              return node_of(d.process);
            else if constexpr (requires { d.connection; } && !std::is_same_v<D, due::Gust>)
              return node_of(d.connection.caller);
            else
              return kNoNode;
          },
      },
      what);
}

}  // namespace

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
    view.channels.push_back({name.result().low, origin, owner_of(world, due.front()->what),
                             std::move(due), content.result()});
  }
  std::sort(view.channels.begin(), view.channels.end(),
            [](Channel const& a, Channel const& b) { return a.name < b.name; });
  return view;
}

Origin general(Origin const& origin, ConnectionNames const& names) {
  if (!(origin[0] & kQueue)) return {};
  if (!is_of_connection(origin)) return origin;
  for (auto const& [id, name] : names)
    if (number_of(id) == origin[1]) return {origin[0], name, origin[2]};
  return {};
}

Origin particular(Origin const& origin, ConnectionNames const& names) {
  if (!is_of_connection(origin)) return origin;
  for (auto const& [id, name] : names)
    if (name == origin[1]) return {origin[0], number_of(id), origin[2]};
  return {};
}

}  // namespace muster::sim
