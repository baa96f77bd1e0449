// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connections between simulated processes. Each direction of one keeps its order, as TCP does; what
// is lost on the way is sent again and holds up what follows; different connections overtake each
// other freely. A cut link loses nothing: it holds back, for as long as it is cut, and whoever
// calls over it gives up after a while.

#include "rendezvous/sim/agenda.hpp"

#include <array>
#include <map>
#include <set>

namespace muster::sim {

enum class Purpose : std::uint8_t {
  host,       // a member calls its host, or who it takes for it
  seat,       // a candidate, or a member without a host, calls a voter
  last_word,  // kept by a guardian
  watch,      // a host away from the endpoint tells who is there
};

enum class Reach : std::uint8_t {
  listening,  // a process of ours has the port
  closed,     // the machine runs, nobody listens
  silent,     // the machine does not run
};

struct Stream {        // one direction of a connection, by who sends
  TimePoint clear_at;  // nothing arrives before what was sent earlier
  std::uint32_t era = 0;
  std::vector<Parcel> held;
};

struct Connection {
  Purpose purpose = Purpose::host;
  NodeIndex from = 0, to = 0;
  ProcessId callee;            // who took the call
  std::array<bool, 2> open{};  // as each side sees it
  std::array<Stream, 2> streams;
  bool dialing = true;
  bool sent_again = false;  // the call, for nobody had answered
  bool forgotten = false;   // by a machine that lost its power

  bool is_open(Side side) const { return open[static_cast<std::size_t>(side)]; }
  NodeIndex node(Side side) const { return side == Side::caller ? from : to; }
};

class Network {
 public:
  explicit Network(NodeIndex nodes) : nodes_(nodes), cut_(std::size_t{nodes} * nodes) {}

  Duration least_delay{};
  fault::Weather weather;

  // -- links
  bool is_cut(NodeIndex from, NodeIndex to) const { return cut_[from * nodes_ + to].cut; }
  bool is_cut_either_way(NodeIndex a, NodeIndex b) const { return is_cut(a, b) || is_cut(b, a); }
  void cut(NodeIndex from, NodeIndex to, TimePoint now);
  void heal(Agenda& agenda);

  // -- connections; ids stay known until both sides have closed
  ConnectionId dial(ProcessId caller, NodeIndex from, NodeIndex to, Purpose purpose,
                    Agenda& agenda);
  Connection const* find(ConnectionId id) const;
  // The call arrived: false if nobody can take it, and a DialFailed follows.
  bool answer(ConnectionId id, Reach reach, ProcessId callee, Agenda& agenda);
  void forget_call(ConnectionId id);
  void send(ConnectionId id, Side from, Parcel parcel, Agenda& agenda);
  // Something arrived: false if it is not there after all, being lost or held back.
  bool deliver(due::Arrival const& arrival);
  // It arrived at a machine that lost its power since and knows of no connection: the sender is
  // told.
  void refuse(due::Arrival const& arrival, Agenda& agenda);
  void flush(due::Flush const& flush, Agenda& agenda);
  // One side closes; the other one learns of it after what is under way.
  void hang_up(ConnectionId id, Side by, Agenda& agenda);
  // The end of the stream has been read.
  void ended(ConnectionId id, Side at);
  // Both sides learn of it; what is under way arrives or is lost, by chance.
  void break_off(ConnectionId id, Agenda& agenda);
  void break_between(NodeIndex a, NodeIndex b, Agenda& agenda);
  // A process ended and its machine goes on: the kernel closes for it.
  void process_gone(ProcessId process, Agenda& agenda, std::set<ConnectionId> const& keep);
  // A machine is without power: nobody is told.
  void power_lost(NodeIndex node, Agenda& agenda);

  struct Link {
    bool cut = false;
    TimePoint since;
  };
  std::map<ConnectionId, Connection> const& connections() const { return connections_; }
  std::vector<Link> const& links() const { return cut_; }

 private:
  Duration delay(Agenda& agenda) const;
  void put(ConnectionId id, Side from, Parcel parcel, Agenda& agenda);
  void lose_what_is_under_way(Connection& connection, Side from);
  void drop_if_closed(ConnectionId id);

  NodeIndex nodes_;
  std::vector<Link> cut_;
  std::map<ConnectionId, Connection> connections_;
  std::map<ProcessId, std::uint32_t> calls_;
};

}  // namespace muster::sim
