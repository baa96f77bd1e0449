// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/gpus.hpp"

#include "rendezvous/base/env_view.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <dlfcn.h>

namespace muster::launch {
namespace {

constexpr char kDriverFolder[] = "/proc/driver/nvidia/gpus";

// nvml.h, nvmlPciInfo_t.
struct NvmlPci {
  std::array<char, 16> bus_id_legacy;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> bus_id;  // "00000000:3B:00.0"
};

// "GPU UUID: GPU-..." of /proc/driver/nvidia/gpus/<address>/information.
std::string information_value(std::string const& text, std::string const& key) {
  auto const at = text.find(key + ":");
  if (at == std::string::npos) return {};
  auto const begin = text.find_first_not_of(" \t", at + key.size() + 1);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::vector<Gpu> gpus_of_proc(FileSystem const& files) {
  std::vector<Gpu> gpus;
  for (auto const& address : files.list(kDriverFolder)) {
    auto const text =
        files.read(std::string(kDriverFolder) + "/" + address + "/information").value_or("");
    // A container sees every GPU of the host here, but device files only of its own.
    auto const minor = information_value(text, "Device Minor");
    if (!minor.empty() && !files.can_read("/dev/nvidia" + minor)) continue;
    gpus.push_back({address, information_value(text, "GPU UUID")});
  }
  return gpus;
}

std::string pci_address_of(NvmlPci const& pci) {
  std::string address(pci.bus_id.data());
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto const colon = address.find(':');
  return colon > 4 && colon != std::string::npos ? address.substr(colon - 4) : address;
}

template <class Function>
Function symbol(void* library, char const* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

// The library stays loaded: unloading a driver's library is where drivers crash.
std::vector<Gpu> gpus_of_nvml() {
  auto* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  auto const init = symbol<int (*)()>(library, "nvmlInit_v2");
  auto const shutdown = symbol<int (*)()>(library, "nvmlShutdown");
  auto const count_of = symbol<int (*)(unsigned*)>(library, "nvmlDeviceGetCount_v2");
  auto const handle_of =
      symbol<int (*)(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2");
  auto const pci_of = symbol<int (*)(void*, NvmlPci*)>(library, "nvmlDeviceGetPciInfo_v3");
  auto const uuid_of = symbol<int (*)(void*, char*, unsigned)>(library, "nvmlDeviceGetUUID");
  if (init == nullptr || shutdown == nullptr || count_of == nullptr || handle_of == nullptr ||
      pci_of == nullptr || uuid_of == nullptr || init() != 0)
    return {};
  std::vector<Gpu> gpus;
  unsigned count = 0;
  if (count_of(&count) != 0) count = 0;
  for (unsigned index = 0; index < count; ++index) {
    Gpu gpu;
    void* device = nullptr;
    NvmlPci pci{};
    std::array<char, 96> uuid{};
    if (handle_of(index, &device) != 0) continue;
    if (pci_of(device, &pci) == 0) gpu.pci_address = pci_address_of(pci);
    if (uuid_of(device, uuid.data(), uuid.size()) == 0) gpu.uuid = uuid.data();
    gpus.push_back(std::move(gpu));
  }
  shutdown();
  return gpus;
}

std::optional<Gpu> gpu_named(std::vector<Gpu> const& all, std::string_view entry) {
  if (auto const index = parse_int(entry)) {
    if (*index < 0 || *index >= static_cast<long long>(all.size())) return std::nullopt;
    return all[static_cast<std::size_t>(*index)];
  }
  if (entry.substr(0, 4) != "GPU-") return std::nullopt;
  std::optional<Gpu> match;
  for (auto const& gpu : all) {
    if (gpu.uuid.compare(0, entry.size(), entry) != 0) continue;
    if (match) return std::nullopt;  // ambiguous prefix
    match = gpu;
  }
  return match;
}

std::string_view trimmed(std::string_view text) {
  auto const first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::vector<Gpu> probe_gpus(FileSystem const& files) {
  auto gpus = gpus_of_proc(files);
  return gpus.empty() ? gpus_of_nvml() : gpus;
}

std::vector<Gpu> visible_gpus(std::vector<Gpu> const& all,
                              std::optional<std::string_view> cuda_visible_devices) {
  if (!cuda_visible_devices) return all;
  std::vector<Gpu> visible;
  auto rest = *cuda_visible_devices;
  while (!rest.empty()) {
    auto const comma = rest.find(',');
    auto const entry = trimmed(rest.substr(0, comma));
    if (entry.substr(0, 4) == "MIG-") return {Gpu{{}, std::string(entry)}};
    auto gpu = gpu_named(all, entry);
    if (!gpu) break;
    visible.push_back(*std::move(gpu));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return visible;
}

}  // namespace muster::launch
