// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/nproc.hpp"

#include "rendezvous/base/env_contract.hpp"

#include <algorithm>
#include <cmath>

namespace muster::launch {
namespace {

std::string visible_text(EnvView const& env) {
  auto const list = env.get(env::kCudaVisibleDevices);
  return list ? " (CUDA_VISIBLE_DEVICES='" + std::string(*list) + "')" : std::string();
}

Error too_few_gpus(int workers, std::size_t gpus, EnvView const& env, char const* because) {
  return Error{
      Errc::bad_input,
      std::to_string(workers) + " workers, but " + std::to_string(gpus) + " GPUs are visible here" +
          visible_text(env) + "; " + because + " gives each worker one",
      gpus == 0
          ? "leave out " + std::string(because) + " on this machine"
          : "lower --nproc-per-node to " + std::to_string(gpus) + ", or leave out " + because};
}

Result<int> wanted(RunOptions const& options, EnvView const& env, Machine const& machine) {
  auto const gpus = static_cast<int>(machine.gpus.size());
  switch (options.nproc.kind) {
    case NprocSpec::Kind::number:
      return options.nproc.count;
    case NprocSpec::Kind::cpu:
      return machine.cpus_online;
    case NprocSpec::Kind::automatic:
      return gpus > 0 ? gpus : machine.cpus_online;
    case NprocSpec::Kind::gpu:
      if (gpus > 0) return gpus;
      return Error{Errc::bad_input,
                   "--nproc-per-node=gpu, but no GPU is visible here" + visible_text(env),
                   "check nvidia-smi and CUDA_VISIBLE_DEVICES, or give a number"};
  }
  return options.nproc.count;
}

}  // namespace

bool wants_gpus(RunOptions const& options) {
  return options.nproc.kind == NprocSpec::Kind::gpu ||
         options.nproc.kind == NprocSpec::Kind::automatic || options.numa_binding ||
         options.virtual_local_rank;
}

Result<int> resolve_nproc(RunOptions const& options, EnvView const& env, Machine const& machine) {
  MUSTER_TRY(int const workers, wanted(options, env, machine));
  auto const gpus = machine.gpus.size();
  bool const too_many = static_cast<std::size_t>(workers) > gpus;
  if (options.numa_binding && too_many) return too_few_gpus(workers, gpus, env, "--numa-binding");
  // Without any GPU the narrowed variable harms nobody, and torchrun allows it.
  if (options.virtual_local_rank && too_many && gpus > 0)
    return too_few_gpus(workers, gpus, env, "--virtual-local-rank");
  return workers;
}

int cpus_per_worker(Machine const& machine, int workers) {
  double cores = machine.cpus_allowed.empty() ? machine.cpus_online
                                              : static_cast<double>(machine.cpus_allowed.size());
  if (machine.cpu_quota > 0) cores = std::min(cores, machine.cpu_quota);
  return std::max(1, static_cast<int>(std::floor(cores / std::max(1, workers))));
}

}  // namespace muster::launch
