// SPDX-License-Identifier: Apache-2.0
#pragma once
// Carries out one rank's plan over its mesh: pieces are sent and received in step, and reduced
// while they are in cache. Used by one thread; keeps its scratch between operations.

#include "worker_runtime/collectives/kernels.hpp"
#include "worker_runtime/collectives/plan.hpp"
#include "worker_runtime/comm/frame.hpp"
#include "worker_runtime/comm/mesh.hpp"

#include <functional>
#include <optional>

namespace muster::worker {

// One operation, ready to run.
struct Job {
  Collective const* collective = nullptr;
  Signature signature;
  PlanRequest request;
  Plan plan;
  std::uint64_t sequence = 0;
  Deadline deadline;
};

// How the owner reaches into a running exchange.
struct Interrupt {
  int wake_fd = -1;                            // readable when something is to be looked at
  std::function<std::optional<Error>()> look;  // an error ends the operation
};

class Exchange {
 public:
  Exchange(Mesh& mesh, Interrupt interrupt) : mesh_(mesh), interrupt_(std::move(interrupt)) {}

  // Ends with the operation, a lost peer, a mismatch, the deadline or the owner's interrupt.
  Result<void> run(Job const& job);

 private:
  struct Sending {
    int peer = 0;
    Range range;
    std::int64_t pieces = 1, piece = 0;
    std::size_t sent = 0;  // of the piece's frame, header included
    FrameBytes header{};
    bool blocked = false;
    bool done() const { return piece == pieces; }
  };
  struct Receiving {
    int peer = 0;
    Range range;
    std::int64_t pieces = 1, piece = 0;
    std::size_t got = 0;  // of the piece's frame, header included
    FrameBytes header{};
    std::byte* slot = nullptr;  // combine: where a piece waits for the others
    bool done() const { return piece == pieces; }
  };

  Result<void> run_round(Round const& round);
  void begin_round(Round const& round);
  bool round_done() const;
  Result<bool> pump();
  Result<bool> pump_send(Sending& sending);
  Result<bool> pump_receive(Receiving& receiving);
  bool pump_combine();
  void combine_piece();
  bool may_send(Sending const& sending) const;
  bool may_receive(Receiving const& receiving) const;
  std::int64_t received_pieces() const;

  Range piece_of(Range range, std::int64_t piece) const;
  std::int64_t pieces_in(Range range) const;
  std::byte const* source_at(std::int64_t element) const;
  std::byte* target_at(std::int64_t element) const;
  FrameHeader frame_of(Range range, std::int64_t piece) const;
  Result<void> check_header(Receiving const& receiving) const;

  Result<void> await_events();
  Result<void> check_peers();
  bool needs(int peer) const;
  Error lost(int peer, std::string const& how);
  Error late() const;
  std::string operation() const;

  Mesh& mesh_;
  Interrupt interrupt_;
  TreeReducer reducer_;
  std::vector<std::byte> slots_;
  std::vector<pollfd> entries_;

  // The operation and the round in progress.
  Job const* job_ = nullptr;
  Round const* round_ = nullptr;
  std::uint16_t round_index_ = 0;
  std::size_t element_ = 1;
  std::int64_t piece_elements_ = 1;
  std::vector<Sending> sends_;
  std::vector<Receiving> receives_;
  std::int64_t combined_ = 0, to_combine_ = 0;
  bool sends_what_it_combines_ = false;
  std::vector<std::byte const*> parties_;
};

}  // namespace muster::worker
