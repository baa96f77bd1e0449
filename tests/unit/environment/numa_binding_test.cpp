// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/numa_binding.hpp"

#include "tests/unit/environment/fake_file_system.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using Cpus = std::vector<int>;

// Two packages of two NUMA nodes of four processors: cores {0,8} {1,9} | {2,10} {3,11} on package
// 0, {4,12} {5,13} | {6,14} {7,15} on package 1. Each core pair of a node shares a cache.
FakeFileSystem machine_files() {
  FakeFileSystem files;
  std::string const system = "/sys/devices/system/";
  for (int node = 0; node < 4; ++node) {
    auto const a = std::to_string(2 * node), b = std::to_string(2 * node + 1);
    auto const c = std::to_string(2 * node + 8), d = std::to_string(2 * node + 9);
    files.file(system + "node/node" + std::to_string(node) + "/cpulist",
               a + "-" + b + "," + c + "-" + d + "\n");
    for (auto const& [core, sibling] : {std::pair{a, c}, std::pair{b, d}})
      for (auto const& cpu : {core, sibling}) {
        auto const folder = system + "cpu/cpu" + cpu + "/";
        files.file(folder + "topology/physical_package_id", std::to_string(node / 2) + "\n");
        files.file(folder + "topology/thread_siblings_list", core + "," + sibling + "\n");
        files.file(folder + "cache/index0/level", "1\n")
            .file(folder + "cache/index0/type", "Instruction\n");
        files.file(folder + "cache/index3/level", "3\n")
            .file(folder + "cache/index3/type", "Unified\n");
        files.file(folder + "cache/index3/shared_cpu_list", core + "," + sibling + "\n");
      }
  }
  files.file("/sys/bus/pci/devices/0000:01:00.0/numa_node", "0\n");
  files.file("/sys/bus/pci/devices/0000:02:00.0/numa_node", "0\n");
  files.file("/sys/bus/pci/devices/0000:03:00.0/numa_node", "3\n");
  files.file("/sys/bus/pci/devices/0000:04:00.0/numa_node", "-1\n");
  return files;
}

Machine gpus_at(std::vector<std::string> const& addresses) {
  Machine machine;
  for (int cpu = 0; cpu < 16; ++cpu) machine.cpus_allowed.push_back(cpu);
  for (auto const& address : addresses) machine.gpus.push_back({address, {}});
  return machine;
}

std::vector<Cpus> bound(NumaBinding binding, int workers, Machine const& machine) {
  auto const files = machine_files();
  auto cpus = numa_cpus(binding, workers, machine, files);
  if (!cpus) FAIL(to_string(cpus.error()));
  return *std::move(cpus);
}

}  // namespace

TEST_CASE("node binds to the GPU's NUMA node, socket to all nodes of its package",
          "[environment]") {
  auto const machine = gpus_at({"0000:01:00.0", "0000:03:00.0"});
  CHECK(bound(NumaBinding::node, 2, machine) == std::vector<Cpus>{{0, 1, 8, 9}, {6, 7, 14, 15}});
  CHECK(bound(NumaBinding::socket, 2, machine) ==
        std::vector<Cpus>{{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}});
}

TEST_CASE("exclusive deals out whole cores to the GPUs of a node", "[environment]") {
  CHECK(
      bound(NumaBinding::exclusive, 3, gpus_at({"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"})) ==
      std::vector<Cpus>{{0, 8}, {1, 9}, {6, 7, 14, 15}});
}

TEST_CASE("exclusive fails where a GPU would get no core", "[environment]") {
  auto machine = gpus_at({"0000:01:00.0", "0000:02:00.0"});
  machine.cpus_allowed = {0, 8};
  auto const cpus = numa_cpus(NumaBinding::exclusive, 2, machine, machine_files());
  REQUIRE_FALSE(cpus);
  CHECK(cpus.error().what == "--numa-binding leaves local rank 1 no processor of NUMA node 0");
}

TEST_CASE("core-complex takes the group of a last-level cache, largest first", "[environment]") {
  auto machine = gpus_at({"0000:01:00.0", "0000:02:00.0"});
  CHECK(bound(NumaBinding::core_complex, 2, machine) == std::vector<Cpus>{{0, 8}, {1, 9}});
  machine.cpus_allowed = {0, 1, 9};  // the second group is larger now
  CHECK(bound(NumaBinding::core_complex, 2, machine) == std::vector<Cpus>{{1, 9}, {0}});
}

TEST_CASE("our own affinity bounds every binding", "[environment]") {
  auto machine = gpus_at({"0000:01:00.0"});
  machine.cpus_allowed = {1, 2, 3};
  CHECK(bound(NumaBinding::node, 1, machine) == std::vector<Cpus>{{1}});
  CHECK(bound(NumaBinding::socket, 1, machine) == std::vector<Cpus>{{1, 2, 3}});
}

TEST_CASE("a machine with one NUMA node says -1", "[environment]") {
  CHECK(bound(NumaBinding::node, 1, gpus_at({"0000:04:00.0"})) == std::vector<Cpus>{{0, 1, 8, 9}});
}

TEST_CASE("too few GPUs and unknown places are told", "[environment]") {
  CHECK(numa_cpus(NumaBinding::node, 2, gpus_at({"0000:01:00.0"}), machine_files()).error().code ==
        Errc::bad_input);
  CHECK(numa_cpus(NumaBinding::node, 1, gpus_at({""}), machine_files()).error().code ==
        Errc::not_found);
  CHECK(numa_cpus(NumaBinding::node, 1, gpus_at({"0000:01:00.0"}), FakeFileSystem()).error().code ==
        Errc::not_found);
}

TEST_CASE("processor lists are the kernel's", "[environment]") {
  CHECK(*parse_cpu_list("0-3,8") == Cpus{0, 1, 2, 3, 8});
  CHECK(parse_cpu_list("")->empty());
  for (auto const* text : {"x", "3-1", "1-", "-1", "1,,2", "0-999999999", "1 2"}) {
    INFO(text);
    CHECK_FALSE(parse_cpu_list(text));
  }
}

}  // namespace muster::launch
