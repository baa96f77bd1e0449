// SPDX-License-Identifier: Apache-2.0
// Delays, cuts, and the ends of connections.

#include "rendezvous/sim/network.hpp"

#include <algorithm>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kCallPatience = 3s;   // of the dialer
constexpr Duration kCallSentAgain = 1s;  // TCP's SYN
constexpr Duration kSentAgain = 200ms;   // the least retransmission time of TCP
constexpr Duration kLongestBackOff = 8s;
constexpr Duration kKernelGivesUp = 20s;  // on a peer that acknowledges nothing

std::size_t index(Side side) {
  return static_cast<std::size_t>(side);
}

}  // namespace

void Network::cut(NodeIndex from, NodeIndex to, TimePoint now) {
  auto& link = cut_[from * nodes_ + to];
  if (!link.cut) link = {true, now};
}

// What was held back is sent again, at a moment that depends on how far the sender had backed off.
void Network::heal(Agenda& agenda) {
  for (auto const& [id, connection] : connections_) {
    for (auto const at : {Side::caller, Side::callee}) {
      auto const& stream = connection.streams[index(other(at))];
      if (stream.held.empty()) continue;
      auto const& link = cut_[connection.node(other(at)) * nodes_ + connection.node(at)];
      auto const outage = agenda.moment() - link.since;
      agenda.plan(agenda.up_to(std::min<Duration>(outage, kLongestBackOff)), due::Flush{id, at});
    }
  }
  for (auto& link : cut_) link.cut = false;
}

Duration Network::delay(Agenda& agenda) const {
  auto time = agenda.between(least_delay, std::max(least_delay, weather.most_delay));
  for (auto again = kSentAgain; again < kLongestBackOff && agenda.chance(weather.loss); again *= 2)
    time += again;
  return time;
}

ConnectionId Network::dial(ProcessId caller, NodeIndex from, NodeIndex to, Purpose purpose,
                           Agenda& agenda) {
  ConnectionId const id{caller, ++calls_[caller]};
  Connection connection;
  connection.purpose = purpose;
  connection.from = from;
  connection.to = to;
  connections_.emplace(id, std::move(connection));
  agenda.plan(2 * delay(agenda), due::Dialed{id});
  return id;
}

Connection const* Network::find(ConnectionId id) const {
  auto const found = connections_.find(id);
  return found == connections_.end() ? nullptr : &found->second;
}

bool Network::answer(ConnectionId id, Reach reach, ProcessId callee, Agenda& agenda) {
  auto& connection = connections_.at(id);
  if (is_cut_either_way(connection.from, connection.to) || reach == Reach::silent) {
    // Lost without a trace, or a router says so at once.
    if (agenda.chance(0.2))
      agenda.plan(Duration::zero(), due::DialFailed{id});
    else if (!std::exchange(connection.sent_again, true))
      agenda.plan(kCallSentAgain, due::Dialed{id});
    else
      agenda.plan(kCallPatience - kCallSentAgain, due::DialFailed{id});
    return false;
  }
  if (reach == Reach::closed) {
    agenda.plan(Duration::zero(), due::DialFailed{id});
    return false;
  }
  connection.dialing = false;
  connection.callee = callee;
  connection.open = {true, true};
  if (weather.breaks_per_second > 0) {
    auto const mean = 2e9 / weather.breaks_per_second;
    agenda.plan(agenda.up_to(Duration{static_cast<std::int64_t>(mean)}), due::Gust{id});
  }
  return true;
}

void Network::forget_call(ConnectionId id) {
  connections_.erase(id);
}

void Network::send(ConnectionId id, Side from, Parcel parcel, Agenda& agenda) {
  auto const found = connections_.find(id);
  if (found == connections_.end() || !found->second.is_open(from)) return;
  put(id, from, std::move(parcel), agenda);
}

void Network::put(ConnectionId id, Side from, Parcel parcel, Agenda& agenda) {
  auto& stream = connections_.at(id).streams[index(from)];
  auto const at = std::max(agenda.moment() + delay(agenda), stream.clear_at);
  stream.clear_at = at;
  agenda.plan(at - agenda.moment(), due::Arrival{id, other(from), stream.era, std::move(parcel)});
}

bool Network::deliver(due::Arrival const& arrival) {
  auto const found = connections_.find(arrival.connection);
  if (found == connections_.end()) return false;
  auto& connection = found->second;
  auto const from = other(arrival.at);
  auto& stream = connection.streams[index(from)];
  if (arrival.era != stream.era || !connection.is_open(arrival.at)) return false;
  if (!is_cut(connection.node(from), connection.node(arrival.at)) && stream.held.empty())
    return true;
  stream.held.push_back(arrival.parcel);
  return false;
}

void Network::refuse(due::Arrival const& arrival, Agenda& agenda) {
  auto const found = connections_.find(arrival.connection);
  if (found == connections_.end()) return;
  auto& connection = found->second;
  auto const from = other(arrival.at);
  if (!connection.forgotten || !connection.is_open(from)) return;
  if (is_cut_either_way(connection.from, connection.to)) return;
  lose_what_is_under_way(connection, arrival.at);
  auto& stream = connection.streams[index(arrival.at)];
  agenda.plan(delay(agenda), due::Arrival{arrival.connection, from, stream.era, nullptr});
}

void Network::flush(due::Flush const& flush, Agenda& agenda) {
  auto const found = connections_.find(flush.connection);
  if (found == connections_.end()) return;
  auto const from = other(flush.at);
  auto& connection = found->second;
  auto& stream = connection.streams[index(from)];
  if (is_cut(connection.node(from), connection.node(flush.at))) return;  // cut again
  if (stream.held.empty()) return;
  // What was sent since the cut ended is still under way, and comes after what was held back.
  agenda.take_if(
      [&](Happening const& what) {
        auto const* later = std::get_if<due::Arrival>(&what);
        return later && later->connection == flush.connection && later->at == flush.at &&
               later->era == stream.era;
      },
      [&](Happening&& what) {
        stream.held.push_back(std::move(std::get<due::Arrival>(what).parcel));
      });
  for (auto& parcel : std::exchange(stream.held, {})) {
    auto const at = std::max(agenda.moment(), stream.clear_at);
    stream.clear_at = at;
    agenda.plan(at - agenda.moment(),
                due::Arrival{flush.connection, flush.at, stream.era, std::move(parcel)});
  }
}

void Network::hang_up(ConnectionId id, Side by, Agenda& agenda) {
  auto const found = connections_.find(id);
  if (found == connections_.end()) return;
  auto& connection = found->second;
  if (connection.dialing) {
    connections_.erase(found);
    return;
  }
  if (!std::exchange(connection.open[index(by)], false)) return;
  connection.streams[index(other(by))].held.clear();  // nobody reads it any more
  if (connection.is_open(other(by))) put(id, by, nullptr, agenda);
  drop_if_closed(id);
}

void Network::ended(ConnectionId id, Side at) {
  auto const found = connections_.find(id);
  if (found == connections_.end()) return;
  found->second.open[index(at)] = false;
  drop_if_closed(id);
}

void Network::lose_what_is_under_way(Connection& connection, Side from) {
  auto& stream = connection.streams[index(from)];
  ++stream.era;
  stream.held.clear();
}

void Network::break_off(ConnectionId id, Agenda& agenda) {
  auto const found = connections_.find(id);
  if (found == connections_.end() || found->second.dialing) return;
  auto& connection = found->second;
  for (auto const from : {Side::caller, Side::callee}) {
    if (agenda.chance(0.5)) {
      lose_what_is_under_way(connection, from);
      connection.streams[index(from)].clear_at = agenda.moment();
    }
    if (connection.is_open(other(from))) put(id, from, nullptr, agenda);
  }
}

void Network::break_between(NodeIndex a, NodeIndex b, Agenda& agenda) {
  std::vector<ConnectionId> hit;
  for (auto const& [id, connection] : connections_)
    if ((connection.from == a && connection.to == b) ||
        (connection.from == b && connection.to == a))
      hit.push_back(id);
  for (auto const id : hit) break_off(id, agenda);
}

void Network::process_gone(ProcessId process, Agenda& agenda, std::set<ConnectionId> const& keep) {
  std::vector<std::pair<ConnectionId, Side>> closing;
  for (auto const& [id, connection] : connections_) {
    if (keep.contains(id)) continue;
    if (id.caller == process) closing.emplace_back(id, Side::caller);
    if (connection.callee == process) closing.emplace_back(id, Side::callee);
  }
  for (auto const& [id, side] : closing) hang_up(id, side, agenda);
}

void Network::power_lost(NodeIndex node, Agenda& agenda) {
  std::vector<ConnectionId> gone;
  for (auto& [id, connection] : connections_) {
    if (connection.from != node && connection.to != node) continue;
    if (connection.dialing && connection.from != node) continue;  // it will find nobody
    connection.forgotten = true;
    for (auto const side : {Side::caller, Side::callee}) {
      if (connection.node(side) == node) {
        connection.open[index(side)] = false;
        connection.streams[index(other(side))].held.clear();
      } else if (connection.is_open(side)) {
        // Its kernel closes when it has sent in vain for long enough.
        auto& stream = connection.streams[index(other(side))];
        stream.clear_at =
            std::max(stream.clear_at, agenda.moment() + agenda.between(5s, kKernelGivesUp));
        agenda.plan(stream.clear_at - agenda.moment(), due::Arrival{id, side, stream.era, nullptr});
      }
    }
    if (!connection.open[0] && !connection.open[1]) gone.push_back(id);
  }
  for (auto const id : gone) connections_.erase(id);
}

void Network::drop_if_closed(ConnectionId id) {
  auto const found = connections_.find(id);
  if (found != connections_.end() && !found->second.open[0] && !found->second.open[1])
    connections_.erase(found);
}

}  // namespace muster::sim
