// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one rank sends, receives and reduces in a collective, as data: a list of rounds computed
// from (operation, algorithm, rank, size, element count). Pure. All reductions come out in tree
// order (reduction_order.hpp), so algorithms differ in speed only. A test runs the plans of all
// ranks symbolically for every size up to 64.

#include "worker_runtime/collectives/operation.hpp"

#include <cstdint>
#include <vector>

namespace muster::worker {

// Elements [begin, end) of the operation's whole vector.
struct Range {
  std::int64_t begin = 0, end = 0;

  std::int64_t count() const { return end - begin; }
  friend bool operator==(Range const&, Range const&) = default;
};

struct Transfer {
  int peer = 0;
  Range range;  // may be empty: a token is sent all the same
};

enum class RoundKind : std::uint8_t {
  exchange,  // receives are stored at their range
  combine,   // range = tree over the receives, in order, with this rank's own at position `own`
  relay,     // receives are stored, and sent on piece by piece
};

// Sends carry what the ranges held before the round (relay: after the receive). A round ends when
// all of its transfers and its reduction have.
struct Round {
  RoundKind kind = RoundKind::exchange;
  std::vector<Transfer> sends, receives;
  Range range;        // combine
  int own = 0;        // combine
  bool last = false;  // combine: the result of the reduction is complete here
};

struct Plan {
  std::vector<Round> rounds;
};

enum class Algorithm : std::uint8_t {
  recursive_doubling,  // all_reduce, powers of two: log2(n) exchanges of everything
  halving_doubling,    // all_reduce, powers of two: distances 1, 2, 4, ... and back
  one_shot,            // all_reduce: everything to everybody, reduced locally
  slices,              // all_reduce, reduce_scatter: slice i to rank i, reduced there (and back)
  direct,              // all_gather: own slice to everybody
  binomial,            // broadcast
  dissemination,       // barrier
};

struct PlanRequest {
  OpKind kind = OpKind::barrier;
  Algorithm algorithm = Algorithm::dissemination;
  int rank = 0;
  int size = 1;
  int root = 0;
  std::int64_t count = 0;            // elements of the whole vector
  std::vector<std::int64_t> counts;  // reduce_scatter, all_gather: elements of each rank's slice;
                                     // empty: as even as possible
};

constexpr bool is_power_of_two(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}

// Rank's slice of the whole vector.
Range slice_of(PlanRequest const& request, int rank);

// The algorithm must fit the operation and the size (choose_algorithm's do).
Plan make_plan(PlanRequest const& request);

// By size only, and only among algorithms that give the same bits.
Algorithm choose_algorithm(OpKind kind, int size, std::int64_t bytes);

}  // namespace muster::worker
