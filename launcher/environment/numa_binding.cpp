// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/numa_binding.hpp"

#include "rendezvous/base/env_view.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace muster::launch {
namespace {

using Cpus = std::vector<int>;

std::string first_line(std::string const& text) {
  return text.substr(0, text.find('\n'));
}

class Topology {
 public:
  Topology(Machine const& machine, FileSystem const& files) : machine_(machine), files_(files) {}

  Result<int> node_of(std::size_t gpu) const {
    auto const& address = machine_.gpus[gpu].pci_address;
    auto const text = files_.read("/sys/bus/pci/devices/" + address + "/numa_node");
    auto const node = text ? parse_int(first_line(*text)) : std::nullopt;
    if (address.empty() || !node)
      return Error{Errc::not_found,
                   "--numa-binding: the NUMA node of GPU " + std::to_string(gpu) + " (PCI '" +
                       address + "') is not in /sys",
                   "leave out --numa-binding on this machine"};
    return std::max(0, static_cast<int>(*node));  // -1: a machine with one node
  }

  Result<Cpus> cpus_of_node(int node) const {
    auto const path = "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist";
    auto const text = files_.read(path);
    if (!text)
      return Error{Errc::not_found, "--numa-binding: cannot read " + path,
                   "leave out --numa-binding on this machine"};
    return parse_cpu_list(first_line(*text));
  }

  Cpus allowed_of(Cpus const& cpus) const {
    if (machine_.cpus_allowed.empty()) return cpus;
    Cpus both;
    std::set_intersection(cpus.begin(), cpus.end(), machine_.cpus_allowed.begin(),
                          machine_.cpus_allowed.end(), std::back_inserter(both));
    return both;
  }

  std::string cpu_file(int cpu, std::string const& name) const {
    auto const text = files_.read("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + name);
    return text ? first_line(*text) : std::string();
  }

  std::vector<std::string> caches_of(int cpu) const {
    return files_.list("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache");
  }

  // Every node with its processors.
  Result<std::map<int, Cpus>> nodes() const {
    std::map<int, Cpus> nodes;
    for (auto const& name : files_.list("/sys/devices/system/node")) {
      auto const number = name.substr(0, 4) == "node" ? parse_int(name.substr(4)) : std::nullopt;
      if (!number) continue;
      MUSTER_TRY(nodes[static_cast<int>(*number)], cpus_of_node(static_cast<int>(*number)));
    }
    return nodes;
  }

 private:
  Machine const& machine_;
  FileSystem const& files_;
};

// All processors of the package that `node` belongs to.
Result<Cpus> cpus_of_socket(Topology const& topology, int node) {
  MUSTER_TRY(auto const nodes, topology.nodes());
  auto const package_of = [&](Cpus const& cpus) {
    return cpus.empty() ? std::string()
                        : topology.cpu_file(cpus.front(), "topology/physical_package_id");
  };
  auto const own = nodes.find(node);
  if (own == nodes.end()) return topology.cpus_of_node(node);
  Cpus all;
  for (auto const& [number, cpus] : nodes)
    if (number == node || package_of(cpus) == package_of(own->second))
      all.insert(all.end(), cpus.begin(), cpus.end());
  std::sort(all.begin(), all.end());
  return all;
}

// Physical cores (threads grouped by their lowest sibling) dealt out in contiguous shares; the
// first `cores % gpus` GPUs get one more.
Cpus exclusive_share(Topology const& topology, Cpus const& cpus, std::size_t index,
                     std::size_t gpus) {
  std::map<int, Cpus> cores;
  for (int const cpu : cpus) {
    auto const siblings = parse_cpu_list(topology.cpu_file(cpu, "topology/thread_siblings_list"));
    bool const known = siblings && !siblings->empty();
    cores[known ? siblings->front() : cpu].push_back(cpu);
  }
  auto const each = cores.size() / gpus;
  auto const extra = cores.size() % gpus;
  auto const begin = index * each + std::min(index, extra);
  auto const count = each + (index < extra ? 1 : 0);
  Cpus share;
  auto core = std::next(cores.begin(), static_cast<std::ptrdiff_t>(begin));
  for (std::size_t i = 0; i < count; ++i, ++core)
    share.insert(share.end(), core->second.begin(), core->second.end());
  std::sort(share.begin(), share.end());
  return share;
}

// The processors that share `cpu`'s last-level cache, as the kernel writes them.
std::string last_level_cache(Topology const& topology, int cpu) {
  std::string shared;
  long long best = -1;
  for (auto const& index : topology.caches_of(cpu)) {
    auto const folder = "cache/" + index + "/";
    auto const type = topology.cpu_file(cpu, folder + "type");
    if (type != "Unified" && type != "Data") continue;
    auto const level = parse_int(topology.cpu_file(cpu, folder + "level")).value_or(-1);
    if (level <= best) continue;
    best = level;
    shared = topology.cpu_file(cpu, folder + "shared_cpu_list");
  }
  return shared;
}

// Groups by last-level cache, largest first, then lowest processor first.
Cpus core_complex(Topology const& topology, Cpus const& cpus, std::size_t index) {
  std::map<std::string, Cpus> by_cache;
  for (int const cpu : cpus) by_cache[last_level_cache(topology, cpu)].push_back(cpu);
  std::vector<Cpus> groups;
  for (auto& [cache, members] : by_cache) groups.push_back(std::move(members));
  std::sort(groups.begin(), groups.end(), [](Cpus const& a, Cpus const& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.front() < b.front();
  });
  return groups.empty() ? Cpus{} : groups[index % groups.size()];
}

Result<Cpus> cpus_for(NumaBinding binding, Topology const& topology, std::size_t gpu,
                      std::vector<int> const& node_of_gpu) {
  int const node = node_of_gpu[gpu];
  MUSTER_TRY(auto const of_node, topology.cpus_of_node(node));
  auto const allowed = topology.allowed_of(of_node);
  auto const at = node_of_gpu.begin() + static_cast<std::ptrdiff_t>(gpu);
  auto const before = static_cast<std::size_t>(std::count(node_of_gpu.begin(), at, node));
  auto const on_node =
      static_cast<std::size_t>(std::count(node_of_gpu.begin(), node_of_gpu.end(), node));
  switch (binding) {
    case NumaBinding::node:
      return allowed;
    case NumaBinding::socket: {
      MUSTER_TRY(auto const of_socket, cpus_of_socket(topology, node));
      return topology.allowed_of(of_socket);
    }
    case NumaBinding::exclusive:
      return exclusive_share(topology, allowed, before, on_node);
    case NumaBinding::core_complex:
      return core_complex(topology, allowed, before);
  }
  return allowed;
}

}  // namespace

Result<std::vector<std::vector<int>>> numa_cpus(NumaBinding binding, int workers,
                                                Machine const& machine, FileSystem const& files) {
  if (machine.gpus.size() < static_cast<std::size_t>(workers))
    return Error{Errc::bad_input,
                 "--numa-binding: " + std::to_string(workers) + " workers, but " +
                     std::to_string(machine.gpus.size()) + " GPUs are visible",
                 "lower --nproc-per-node, or leave out --numa-binding"};
  Topology const topology(machine, files);
  std::vector<int> node_of_gpu;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    MUSTER_TRY(int const node, topology.node_of(gpu));
    node_of_gpu.push_back(node);
  }
  std::vector<Cpus> all;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(workers); ++rank) {
    MUSTER_TRY(auto cpus, cpus_for(binding, topology, rank, node_of_gpu));
    if (cpus.empty())
      return Error{
          Errc::bad_input,
          "--numa-binding leaves local rank " + std::to_string(rank) +
              " no processor of NUMA node " + std::to_string(node_of_gpu[rank]),
          "widen this process's affinity, lower --nproc-per-node, or use --numa-binding=node"};
    all.push_back(std::move(cpus));
  }
  return all;
}

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::set<int> cpus;
  auto const wrong = [whole = std::string(text)] {
    return Error{Errc::protocol, "'" + whole + "' is no list of processors like 0-3,8", {}};
  };
  constexpr long long kMaxCpu = 8191;
  while (!text.empty()) {
    auto const part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    auto const dash = part.find('-');
    auto const first = parse_int(part.substr(0, dash));
    auto const last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > kMaxCpu) return wrong();
    for (auto cpu = *first; cpu <= *last; ++cpu) cpus.insert(static_cast<int>(cpu));
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

}  // namespace muster::launch
