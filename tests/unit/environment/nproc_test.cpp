// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/nproc.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using Kind = NprocSpec::Kind;

Machine machine_with(int cpus, std::size_t gpus) {
  Machine machine;
  machine.cpus_online = cpus;
  for (int cpu = 0; cpu < cpus; ++cpu) machine.cpus_allowed.push_back(cpu);
  machine.gpus.resize(gpus);
  return machine;
}

RunOptions wanting(Kind kind, int count = 0) {
  RunOptions options;
  options.nproc = NprocSpec{kind, count};
  return options;
}

}  // namespace

TEST_CASE("auto means GPUs, or processors where there is no GPU", "[environment]") {
  CHECK(*resolve_nproc(wanting(Kind::automatic), {}, machine_with(16, 4)) == 4);
  CHECK(*resolve_nproc(wanting(Kind::automatic), {}, machine_with(16, 0)) == 16);
  CHECK(*resolve_nproc(wanting(Kind::cpu), {}, machine_with(16, 4)) == 16);
  CHECK(*resolve_nproc(wanting(Kind::gpu), {}, machine_with(16, 4)) == 4);
  CHECK(*resolve_nproc(wanting(Kind::number, 9), {}, machine_with(2, 4)) == 9);
}

TEST_CASE("gpu without a GPU is refused with what to check", "[environment]") {
  EnvView const env(std::map<std::string, std::string, std::less<>>{{"CUDA_VISIBLE_DEVICES", ""}});
  auto const workers = resolve_nproc(wanting(Kind::gpu), env, machine_with(16, 0));
  REQUIRE_FALSE(workers);
  CHECK(to_string(workers.error()) ==
        "--nproc-per-node=gpu, but no GPU is visible here (CUDA_VISIBLE_DEVICES='') (check "
        "nvidia-smi "
        "and CUDA_VISIBLE_DEVICES, or give a number)");
}

TEST_CASE("more workers than GPUs are refused only where each is bound to one", "[environment]") {
  auto options = wanting(Kind::number, 4);
  CHECK(resolve_nproc(options, {}, machine_with(16, 2)));
  options.virtual_local_rank = true;
  auto const workers = resolve_nproc(options, {}, machine_with(16, 2));
  REQUIRE_FALSE(workers);
  CHECK(workers.error().what ==
        "4 workers, but 2 GPUs are visible here; --virtual-local-rank gives each worker one");
  CHECK(resolve_nproc(options, {}, machine_with(16, 0)));  // no GPU: nothing to contradict
  options.virtual_local_rank = false;
  options.numa_binding = NumaBinding::node;
  CHECK(resolve_nproc(options, {}, machine_with(16, 0)).error().hint ==
        "leave out --numa-binding on this machine");
}

TEST_CASE("GPUs are asked for only where they matter", "[environment]") {
  CHECK_FALSE(wants_gpus(wanting(Kind::number, 4)));
  CHECK_FALSE(wants_gpus(wanting(Kind::cpu)));
  CHECK(wants_gpus(wanting(Kind::automatic)));
  CHECK(wants_gpus(wanting(Kind::gpu)));
}

TEST_CASE("cores per worker follow affinity and quota", "[environment]") {
  auto machine = machine_with(16, 0);
  CHECK(cpus_per_worker(machine, 4) == 4);
  CHECK(cpus_per_worker(machine, 5) == 3);
  CHECK(cpus_per_worker(machine, 100) == 1);
  machine.cpu_quota = 6.5;
  CHECK(cpus_per_worker(machine, 2) == 3);
  machine.cpu_quota = 0.5;
  CHECK(cpus_per_worker(machine, 1) == 1);
}

}  // namespace muster::launch
