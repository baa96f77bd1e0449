// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a table of seats to connections between all: each rank calls the lower ones and takes the
// calls of the higher ones. Blocks until the mesh is whole, a peer is gone, or the deadline.

#include "worker_runtime/comm/mesh.hpp"
#include "worker_runtime/comm/socket_io.hpp"

namespace muster::worker {

struct JoinRequest {
  std::uint64_t nonce = 0;
  std::uint64_t incarnation = 0;
  Deadline deadline;
};

// A caller that has said who it is.
struct Caller {
  Hello hello;
  UniqueFd fd;
};

// Takes connections and keeps those that have said a hello with this nonce; others are closed.
class Callers {
 public:
  Callers(Listener& listener, std::uint64_t nonce) : listener_(listener), nonce_(nonce) {}

  // Callers that completed their hello; empty at the deadline, or when a control connection of the
  // mesh has something to read.
  Result<std::vector<Caller>> next(Mesh const& mesh, Deadline deadline);

 private:
  struct Pending {
    UniqueFd fd;
    std::string bytes;
    Deadline patience;  // a stray connection is not kept for ever
  };
  Result<void> take_connections();
  void read_hellos(std::vector<Caller>& complete);

  Listener& listener_;
  std::uint64_t nonce_;
  std::vector<Pending> pending_;
};

// Reads one message to its last byte and nothing behind it.
Result<ControlMessage> read_message(int fd, Deadline deadline);

// mesh: seats filled in; control connections that exist already are kept.
Result<void> join_mesh(Mesh& mesh, Listener& listener, JoinRequest const& request);

}  // namespace muster::worker
