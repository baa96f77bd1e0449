// SPDX-License-Identifier: Apache-2.0
// What a program does with its connections: the part of the agent's and the daemon's shell that the
// simulation stands in for.

#include "rendezvous/base/overload.hpp"
#include "rendezvous/sim/story.hpp"
#include "rendezvous/sim/world.hpp"

namespace muster::sim {
namespace {

using namespace membership;
using namespace std::chrono_literals;

constexpr Duration kFirstCallPause = 20ms;  // those of the dialer
constexpr Duration kLongestCallPause = 500ms;
constexpr Duration kWatchEvery = 1s;

// At an agent's listener, also at one that hosts: what its voter answers.
bool is_for_the_voter(Message const& message) {
  return std::holds_alternative<Ask>(message) || std::holds_alternative<Answer>(message) ||
         std::holds_alternative<VoteRequest>(message);
}

}  // namespace

void World::dialed(due::Dialed const& due) {
  auto const* connection = network.find(due.connection);
  if (!connection) return;  // the caller has given it up
  auto const* callee = listener(connection->to);
  auto const& node = nodes[connection->to];
  auto reach = Reach::listening;
  if (!node.powered || node.frozen)
    reach = Reach::silent;
  else if (!callee)
    reach = Reach::closed;
  if (network.answer(due.connection, reach, callee ? callee->id : ProcessId{}, agenda))
    happen_in_turn(due::Opened{due.connection});
}

// The caller sees it at once, unless it cannot run.
void World::happen_in_turn(due::Opened const& due) {
  if (!defer(due)) opened(due);
}

void World::opened(due::Opened const& due) {
  auto& process = at(due.connection.caller);
  auto const* connection = network.find(due.connection);
  if (!connection || !connection->is_open(Side::caller)) return;
  if (auto const unsent = process.unsent.find(due.connection); unsent != process.unsent.end()) {
    for (auto& parcel : unsent->second)
      network.send(due.connection, Side::caller, std::move(parcel), agenda);
    process.unsent.erase(unsent);
  }
  if (process.to_host == due.connection) {
    feed(process, member::Connected{});
    aim_last_word(process);
  }
}

void World::dial_failed(due::DialFailed const& due) {
  network.forget_call(due.connection);
  auto& process = at(due.connection.caller);
  process.unsent.erase(due.connection);
  std::erase_if(process.to_seats,
                [&](auto const& entry) { return entry.second == due.connection; });
  if (process.watch_line == due.connection) process.watch_line.reset();
  last_word_line_ended(process, due.connection);
  if (process.to_host != due.connection) return;
  process.to_host.reset();
  call_host_again(process);
}

void World::arrived(due::Arrival const& due) {
  auto const* connection = network.find(due.connection);
  if (!connection) return;
  if (!network.deliver(due)) {
    auto const& node = nodes[connection->node(due.at)];
    if (node.powered && !node.frozen && due.parcel) network.refuse(due, agenda);
    return;
  }
  auto const id = due.at == Side::caller ? due.connection.caller : connection->callee;
  auto& process = at(id);
  if (process.alive && !can_run(process)) {
    process.inbox.push_back(due);
    return;
  }
  if (!process.alive) return;
  if (!due.parcel) return stream_ended(due.connection, due.at);
  if (tells(Telling::everything)) trace(process, *due.parcel);
  if (due.at == Side::caller) return letter_at_caller(process, due.connection, *due.parcel);
  letter_at_listener(process, due.connection, *due.parcel);
}

void World::stream_ended(ConnectionId id, Side side) {
  auto const callee = network.find(id)->callee;
  network.ended(id, side);
  if (side == Side::callee) {
    auto& process = at(callee);
    std::erase_if(process.callers, [&](auto const& entry) { return entry.second == id; });
    if (!process.hosting) return;
    for (auto const& [member, route] : process.hosting->routes) {
      if (route != id) continue;
      auto const gone = member;
      process.hosting->routes.erase(member);
      return feed_host(process, Disconnected{gone});
    }
    return;
  }
  auto& process = at(id.caller);
  std::erase_if(process.to_seats, [&](auto const& entry) { return entry.second == id; });
  last_word_line_ended(process, id);
  if (process.watch_line == id) process.watch_line.reset();
  if (process.to_host != id) return;
  process.to_host.reset();
  feed(process, member::Disconnected{});
  call_host_again(process);
}

void World::letter_at_listener(Process& process, ConnectionId id, control::Letter const& letter) {
  process.callers[letter.header.incarnation] = id;
  auto const hosts = process.hosting && !process.hosting->finished;
  if (hosts && !(process.member && is_for_the_voter(letter.message)))
    return host_hears(process, id, letter);
  auto const answer = [&](Message message) {
    control::Letter reply{letter.header, std::move(message)};
    if (process.member) reply.header = header_of(*process.member);
    network.send(id, Side::callee, wrap(std::move(reply)), agenda);
  };
  if (auto const* join = std::get_if<Join>(&letter.message)) {
    // Whoever is called as the host and is not says who is, as far as it knows.
    if (process.member) {
      auto const& member = *process.member;
      if (!member.with_host) return;
      return answer(HostIs{member.generation, member.epoch, member.host_seat,
                           member.voter.committed.has_value()});
    }
    if (process.elsewhere) return answer(*process.elsewhere);
    newborn(process, join->job);
    return host_hears(process, id, letter);
  }
  if (auto const* is = std::get_if<HostIs>(&letter.message); is && !process.member)
    process.elsewhere = *is;
  if (process.member) feed(process, member::PeerSaid{letter.header, letter.message});
}

void World::letter_at_caller(Process& process, ConnectionId id, control::Letter const& letter) {
  auto const purpose = network.find(id)->purpose;
  if (purpose == Purpose::host) {
    if (process.to_host == id) feed(process, member::Heard{letter.header, letter.message});
  } else if (purpose == Purpose::seat && process.member) {
    feed(process, member::PeerSaid{letter.header, letter.message});
  }
}

void World::leave_host(Process& process) {
  process.in_process = false;
  if (!process.to_host) return;
  network.hang_up(*process.to_host, Side::caller, agenda);
  process.unsent.erase(*process.to_host);
  process.to_host.reset();
}

// The seat that the member named, or else the endpoint: the daemon's place, or one of several.
void World::call_host(Process& process) {
  if (!process.alive || process.ending || process.ended()) return;
  leave_host(process);
  auto to = process.target.address.empty() ? plan_->nodes : node_at(process.target.address);
  if (process.target.address.empty() && !plan_->daemon)
    to = process.calls % std::max(1u, plan_->places);
  ++process.calls;
  if (process.hosting && !process.hosting->finished && to == process.node) {
    process.in_process = true;
    return feed(process, member::Connected{});
  }
  if (to >= nodes.size()) return call_host_again(process);
  process.to_host = network.dial(process.id, process.node, to, Purpose::host, agenda);
}

void World::call_host_again(Process& process) {
  agenda.plan(agenda.between(kFirstCallPause, kLongestCallPause),
              due::CallHostAgain{process.id, process.calls});
}

void World::call_seat(Process& process, member::CallSeat const& call) {
  auto const parcel = wrap({header_of(*process.member), call.message});
  auto const known = process.to_seats.find(call.seat.node);
  if (known != process.to_seats.end()) {
    auto const* connection = network.find(known->second);
    if (connection && connection->is_open(Side::caller))
      return network.send(known->second, Side::caller, parcel, agenda);
    if (connection && connection->dialing) {
      process.unsent[known->second].push_back(parcel);
      return;
    }
  }
  auto const to = node_at(call.seat.address);
  if (to >= nodes.size()) return;
  auto const id = network.dial(process.id, process.node, to, Purpose::seat, agenda);
  process.to_seats[call.seat.node] = id;
  process.unsent[id].push_back(parcel);
}

// A host away from the endpoint calls there each second: one that was born there meanwhile must
// know, and newcomers with it.
void World::watch(Process& process) {
  process.watching = false;
  if (!process.hosting || process.hosting->finished || !process.member) return;
  auto const endpoint = plan_->daemon ? plan_->nodes : 0;
  if (process.node == endpoint) return;
  process.watching = true;
  agenda.plan(kWatchEvery, due::Watch{process.id});
  auto const& host = process.hosting->host;
  if (!host.committed) return;
  auto const& own = nodes[process.node];
  Seat const seat{host.self, own.name, own.address, process.member->facts.control_port};
  HostIs const note{host.generation, host.epoch, seat, true};
  auto const parcel = wrap(letter_of(*process.hosting, note));
  if (process.watch_line) {
    network.send(*process.watch_line, Side::caller, parcel, agenda);
    return;
  }
  process.watch_line = network.dial(process.id, process.node, endpoint, Purpose::watch, agenda);
  process.unsent[*process.watch_line].push_back(parcel);
}

}  // namespace muster::sim
