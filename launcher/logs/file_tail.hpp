// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last lines of a log file that the worker wrote itself. Shell: reads the disk.

#include <string>
#include <vector>

namespace muster::launch {

// At most as many as TailRing keeps; none where there is no file.
std::vector<std::string> tail_of_file(std::string const& path);

}  // namespace muster::launch
