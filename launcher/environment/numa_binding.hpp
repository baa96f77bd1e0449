// SPDX-License-Identifier: Apache-2.0
#pragma once
// --numa-binding: the processors that each local rank may use, by the place of the GPU whose index
// is the local rank. Pure over a FileSystem that holds /sys; process/ applies the result between
// fork and exec.

#include "launcher/cli/options.hpp"
#include "launcher/environment/file_system.hpp"
#include "launcher/environment/machine.hpp"
#include "rendezvous/base/result.hpp"

#include <string_view>
#include <vector>

namespace muster::launch {

// One sorted list of processors per local rank. Errors: bad_input (fewer GPUs than workers, no
// processor left for one), not_found (no PCI address, nothing in /sys).
Result<std::vector<std::vector<int>>> numa_cpus(NumaBinding binding, int workers,
                                                Machine const& machine, FileSystem const& files);

// The kernel's list format ("0-3,8") to numbers; nothing for what is no list.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace muster::launch
