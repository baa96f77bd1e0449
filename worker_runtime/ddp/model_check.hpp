// SPDX-License-Identifier: Apache-2.0
#pragma once
// Do all ranks have the same model: before any gradient travels, and as training goes on?
// Collective.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/comm/process_group.hpp"
#include "worker_runtime/core/param.hpp"

#include <span>

namespace muster::worker {

// Compares count, names, shapes, types and which parameters learn. If they differ, all ranks get
// the same error, which names the first differing rank and parameter, and both versions.
Result<void> check_same_model(ProcessGroup& group, std::span<Param* const> params);

// Compares the bits of all values, which no correct training lets differ. Reads every parameter:
// call it every some hundred steps, or before a checkpoint.
Result<void> check_same_values(ProcessGroup& group, std::span<Param* const> params);

}  // namespace muster::worker
