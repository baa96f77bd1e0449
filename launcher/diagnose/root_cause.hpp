// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who failed first, who followed: an order over the failures of all nodes. Pure.

#include "launcher/diagnose/failure_report.hpp"

#include <vector>

namespace muster::launch {

enum class Role {
  own,       // ended by itself, for a reason of its own
  follower,  // its last words say that a peer was gone, or it exited with peer_lost
  stopped,   // ended by muster
};

struct RankedFailure {
  NodeReport const* node = nullptr;
  FailedWorker const* worker = nullptr;
  Role role = Role::own;
};

// The cause first; own failures before followers before those that muster stopped. Within a machine
// the boot clock decides (boot_ns, where boot_id is equal), between machines the order of
// `reports`: that in which they reached the rendezvous host, since clocks of two machines compare
// to nothing. Points into `reports`.
std::vector<RankedFailure> order_by_cause(std::vector<NodeReport> const& reports);

// Whether its message, traceback or stderr is the complaint of one who lost a peer.
bool speaks_of_lost_peer(FailedWorker const& worker);

}  // namespace muster::launch
