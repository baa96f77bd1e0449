// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the ranks of a world find each other through a store: rank 0 publishes one key, where it
// listens and a fresh nonce; the others call it, and it answers with the table of all seats once
// everybody has called. A key left over from an earlier attempt names a listener that is gone or
// does not know the nonce, so whoever reads it tries again: no key of an earlier attempt can be
// mistaken for this one's, whatever the launcher counts. Blocks.

#include "rendezvous/net/blocking_client.hpp"
#include "worker_runtime/comm/mesh.hpp"

namespace muster::worker {

inline constexpr char kWorldKey[] = "muster/world";

struct WorldRequest {
  int rank = 0;
  int size = 1;
  std::string store_host;
  Deadline deadline;
};

Result<Mesh> join_world(net::BlockingClient& store, WorldRequest const& request);

}  // namespace muster::worker
