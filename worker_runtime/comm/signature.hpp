// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all ranks must agree on about one operation, and the checks of one rank's arguments. Pure.

#include "worker_runtime/collectives/plan.hpp"
#include "worker_runtime/comm/process_group.hpp"

#include <string>

namespace muster::worker {

// Travels in every frame, so that a mismatch is an error that names both sides, not a hang.
struct Signature {
  OpKind kind = OpKind::barrier;
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::f32;
  std::int64_t elements = 0;  // of the whole vector
  std::int32_t root = 0;
  std::uint32_t counts_hash = 0;
  double factor = 1.0;

  friend bool operator==(Signature const&, Signature const&) = default;
};

// Refuses arguments that cannot be right on this rank alone.
Result<void> check_collective(Collective const& collective, GroupShape const& shape);

// Of a collective that passed the check.
Signature signature_of(Collective const& collective, int size);
PlanRequest plan_request_of(Collective const& collective, GroupShape const& shape);

// "all_reduce sum of 4096 x F32", and "(bucket 3)" behind it where the site is known.
std::string describe(Signature const& signature, char const* site = nullptr);

}  // namespace muster::worker
