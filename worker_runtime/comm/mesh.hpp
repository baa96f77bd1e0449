// SPDX-License-Identifier: Apache-2.0
#pragma once
// The connections of one rank to all others: to each one for data and one for control messages, so
// that news of an abort or of a death is never stuck behind data. Owned and used by one thread at a
// time (the joining one, then the group's progress thread).

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/unique_fd.hpp"
#include "worker_runtime/comm/control_message.hpp"

#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace muster::worker {

struct PeerLink {
  Seat seat;
  UniqueFd control, data;  // control is closed at its end
  std::string inbox;       // of control, not yet decoded
  bool bye = false;        // it left in good order
  std::optional<TimePoint> gone_at;
};

struct Mesh {
  int rank = 0;
  std::vector<PeerLink> peers;  // by rank; the own entry has a seat only
  // A peer has aborted the group: the reason, as it is passed on. Each rank passes it on before it
  // closes its connections, so that none of them ends without the reason.
  std::optional<Error> told;

  int size() const { return static_cast<int>(peers.size()); }
  PeerLink& peer(int other) { return peers[static_cast<std::size_t>(other)]; }
  PeerLink const& peer(int other) const { return peers[static_cast<std::size_t>(other)]; }
};

// "rank 2 (host b)"
std::string name_of_peer(Mesh const& mesh, int rank);

// Appends the control descriptors that can still say something.
void watch_controls(Mesh const& mesh, std::vector<pollfd>& entries);

// Reads what the peer's control connection holds, without blocking. An error is the peer's abort,
// as this rank reports it; an end without bye is noted in gone_at.
Result<void> read_control(Mesh& mesh, int peer);
Result<void> read_controls(Mesh& mesh);

// Tells all peers, without waiting for any of them.
void announce(Mesh& mesh, ControlMessage const& message);

// What becomes of a peer's abort at this rank. Faults of the group keep their code; a peer's own
// reasons make it a lost peer, which is a consequence here.
struct News {
  Error report;   // what this rank's operations return
  Error pass_on;  // what it tells the others
};
News as_told_by(Mesh const& mesh, int peer, Error error);

}  // namespace muster::worker
