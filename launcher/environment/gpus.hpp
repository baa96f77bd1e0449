// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVIDIA GPUs of this machine and which of them CUDA_VISIBLE_DEVICES leaves. probe_gpus reads
// /proc/driver/nvidia and, where that is not there, asks NVML through dlopen; nothing is linked.

#include "launcher/environment/file_system.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::launch {

struct Gpu {
  std::string pci_address;  // "0000:3b:00.0", as /sys spells it; empty where unknown
  std::string uuid;         // "GPU-..."

  friend bool operator==(Gpu const&, Gpu const&) = default;
};

// Every GPU whose device file this process can use, in PCI order (CUDA's order where all are
// alike).
std::vector<Gpu> probe_gpus(FileSystem const& files);

// CUDA's rule: a comma list of indices or UUID prefixes; the list ends at the first entry that is
// none; of MIG devices a process sees one. nullopt (unset): all.
std::vector<Gpu> visible_gpus(std::vector<Gpu> const& all,
                              std::optional<std::string_view> cuda_visible_devices);

}  // namespace muster::launch
