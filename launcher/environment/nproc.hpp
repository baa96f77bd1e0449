// SPDX-License-Identifier: Apache-2.0
#pragma once
// --nproc-per-node to a number, and the cores that each worker has. Pure.

#include "launcher/cli/options.hpp"
#include "launcher/environment/machine.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"

namespace muster::launch {

// Whether these options depend on the GPUs of the machine.
bool wants_gpus(RunOptions const& options);

// Workers of this node. A plain number is taken as it is, as torchrun does; it is held against the
// GPUs only where each worker is to be bound to one (--numa-binding, --virtual-local-rank). Errors:
// bad_input with a remedy.
Result<int> resolve_nproc(RunOptions const& options, EnvView const& env, Machine const& machine);

// Cores that each of `workers` really has, for MUSTER_CPUS; at least 1.
int cpus_per_worker(Machine const& machine, int workers);

}  // namespace muster::launch
