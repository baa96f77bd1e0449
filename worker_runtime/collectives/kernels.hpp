// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elementwise reduction kernels. Pure; the bits of an element depend on its operands only, never on
// its offset, the length or the thread (compiled with -ffp-contract=off). Sums of integers wrap.
// min and max return NaN where either operand is NaN.

#include "worker_runtime/collectives/operation.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace muster::worker {

bool is_reducible(DType dtype);

// out[i] = left[i] op right[i]. out may be left or right, but not overlap them otherwise. Pointers
// are aligned for the element; the dtype is reducible.
void combine(ReduceOp op, DType dtype, std::byte* out, std::byte const* left,
             std::byte const* right, std::size_t count);

// data[i] *= factor, computed in double and rounded once. Floating types only.
void scale(DType dtype, std::byte* data, double factor, std::size_t count);

// Reduces any number of parties in tree order. Keeps its scratch: one object a thread.
class TreeReducer {
 public:
  // out may be one of the parties.
  void reduce(ReduceOp op, DType dtype, std::byte* out, std::span<std::byte const* const> parties,
              std::size_t count);

 private:
  std::vector<std::byte> scratch_;
};

// The reference: a fresh tensor that holds the parts reduced in tree order. All parts have one
// shape and dtype; at least one part.
Tensor tree_reduced(std::span<Tensor const> parts, ReduceOp op = ReduceOp::sum);

}  // namespace muster::worker
