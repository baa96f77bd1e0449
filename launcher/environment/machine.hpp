// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this machine offers to workers: processors and GPUs. Asks the system (files,
// sched_getaffinity, for GPUs the driver): under a millisecond without GPUs, no thread.

#include "launcher/environment/file_system.hpp"
#include "launcher/environment/gpus.hpp"
#include "rendezvous/base/env_view.hpp"

#include <vector>

namespace muster::launch {

struct Machine {
  int cpus_online = 1;            // os.cpu_count()
  std::vector<int> cpus_allowed;  // sched_getaffinity, sorted
  double cpu_quota = 0;           // cores by the cgroup's cpu.max; 0: no limit
  std::vector<Gpu> gpus;          // those that workers see, in CUDA's order; empty if not asked for
};

// GPUs are looked for only if `wants_gpus`: asking the driver can cost milliseconds.
Machine probe_machine(EnvView const& env, FileSystem const& files, bool wants_gpus);

// Cores that this process's cgroup grants by quota (v2 cpu.max of it and its parents, or v1), 0 if
// unlimited. Pure over a FileSystem.
double cgroup_cpu_quota(FileSystem const& files);

}  // namespace muster::launch
