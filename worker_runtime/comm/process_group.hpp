// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives over a fixed set of ranks. One virtual verb, submit(): a new operation is an
// enumerator and a free function. Every rank submits the same operations in the same order from one
// thread; after any error the group is dead and every operation returns that error. Reductions
// follow one order of summation (collectives/reduction_order.hpp).

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/result.hpp"
#include "worker_runtime/comm/work.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace muster::worker {

enum class OpKind : std::uint8_t { broadcast, all_reduce, reduce_scatter, all_gather, barrier };
enum class ReduceOp : std::uint8_t { sum, min, max };

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
  std::string backend;  // "threads", "cpu"
};

struct Reason {
  Error error;
};

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual GroupShape shape() const = 0;
  virtual Work submit(
      std::span<Collective const> operations) = 0;  // a span is one coalesced operation
  virtual Result<std::shared_ptr<Storage>> alloc(std::size_t bytes,
                                                 Device device) = 0;  // collective, symmetric
  virtual Result<std::shared_ptr<ProcessGroup>> split(int color, int key) = 0;  // collective
  virtual void abort(Reason reason) noexcept = 0;                               // any thread
};

struct CallOptions {
  ReduceOp op = ReduceOp::sum;
  Stream stream{};
  std::optional<Deadline> deadline{};
  char const* site = nullptr;
};

// in-place; every rank ends with the same bits
Work all_reduce(ProcessGroup& group, Tensor tensor, CallOptions options = {});
// in-place; everybody ends with root's bytes; any dtype
Work broadcast(ProcessGroup& group, Tensor tensor, int root, CallOptions options = {});
// in: size x n elements; out: n elements, this rank's slice of the sum
Work reduce_scatter(ProcessGroup& group, Tensor in, Tensor out, CallOptions options = {});
// in: n elements; out: size x n elements in rank order; any dtype
Work all_gather(ProcessGroup& group, Tensor in, Tensor out, CallOptions options = {});
Work barrier(ProcessGroup& group, CallOptions options = {});

}  // namespace muster::worker
