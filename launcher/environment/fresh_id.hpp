// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run id for a job that was given none.

#include <string>

namespace muster::launch {

// A random UUID (version 4), as torchrun makes for --standalone. Asks the kernel.
std::string fresh_run_id();

}  // namespace muster::launch
