// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives over a fixed set of ranks. One virtual verb, submit(): a new operation is an
// enumerator and a free function. Every rank submits the same operations in the same order from one
// thread; after any error the group is dead and every operation returns that error. Reductions
// follow one order of summation (collectives/reduction_order.hpp).

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/result.hpp"
#include "worker_runtime/collectives/operation.hpp"
#include "worker_runtime/comm/work.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster::worker {

struct Stream {
  void* native = nullptr;  // null: CPU
};

struct Collective {
  OpKind kind = OpKind::barrier;
  ReduceOp op = ReduceOp::sum;
  int peer = 0;    // root of a broadcast
  Tensor in, out;  // may share bytes where the operation allows it (all_reduce, broadcast)
  std::vector<std::int64_t>
      counts;           // elements per rank, for uneven reduce_scatter and all_gather; empty: equal
  double factor = 1.0;  // multiplied into the result, after the reduction
  std::optional<Deadline> deadline;  // none: the group's default
  Stream stream;
  char const* site = nullptr;  // where in the program, for messages: "bucket 3"; a literal
};

struct GroupShape {
  int rank = 0;
  int size = 1;
  int ranks_per_host = 1;
  int local_index = 0;  // among the ranks of this host
  std::string backend;  // "threads", "cpu"
};

struct Reason {
  Error error;
};

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual GroupShape shape() const = 0;
  // A span is one coalesced operation: one Work, which ends when all of them have.
  virtual Work submit(std::span<Collective const> operations) = 0;
  // Collective, symmetric: every rank asks for the same size.
  virtual Result<std::shared_ptr<Storage>> alloc(std::size_t bytes, Device device) = 0;
  // Collective, blocks. Ranks of one color form a group, ordered by (key, rank); a negative color
  // gets none (null).
  virtual Result<std::shared_ptr<ProcessGroup>> split(int color, int key) = 0;
  // Ends every operation on all ranks with the reason. Any thread.
  virtual void abort(Reason reason) noexcept = 0;
};

struct CallOptions {
  ReduceOp op = ReduceOp::sum;
  Stream stream{};
  std::optional<Deadline> deadline{};
  char const* site = nullptr;
  double factor = 1.0;                    // reductions of floating types
  std::vector<std::int64_t> counts = {};  // uneven reduce_scatter and all_gather: the same list on
                                          // all ranks
};

// Arguments that cannot be right come back as a failed Work (bad_input) and start nothing.

// In place; every rank ends with the same bits. f32, f64, i64, i32.
Work all_reduce(ProcessGroup& group, Tensor tensor, CallOptions options = {});
// In place; everybody ends with root's bytes. Any dtype.
Work broadcast(ProcessGroup& group, Tensor tensor, int root, CallOptions options = {});
// in: everybody's slices in rank order; out: this rank's slice of the reduction.
Work reduce_scatter(ProcessGroup& group, Tensor in, Tensor out, CallOptions options = {});
// in: this rank's slice; out: everybody's slices in rank order. Any dtype.
Work all_gather(ProcessGroup& group, Tensor in, Tensor out, CallOptions options = {});
Work barrier(ProcessGroup& group, CallOptions options = {});

}  // namespace muster::worker
