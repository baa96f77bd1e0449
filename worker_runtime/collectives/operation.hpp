// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of what ranks can do together. Pure values, used by plans, kernels and groups.

#include <cstdint>
#include <string_view>

namespace muster::worker {

enum class OpKind : std::uint8_t { broadcast, all_reduce, reduce_scatter, all_gather, barrier };
enum class ReduceOp : std::uint8_t { sum, min, max };

constexpr std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::broadcast:
      return "broadcast";
    case OpKind::all_reduce:
      return "all_reduce";
    case OpKind::reduce_scatter:
      return "reduce_scatter";
    case OpKind::all_gather:
      return "all_gather";
    case OpKind::barrier:
      return "barrier";
  }
  return "?";
}

constexpr std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
  }
  return "?";
}

constexpr bool is_reduction(OpKind kind) {
  return kind == OpKind::all_reduce || kind == OpKind::reduce_scatter;
}

}  // namespace muster::worker
