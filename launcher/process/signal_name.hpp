// SPDX-License-Identifier: Apache-2.0
#pragma once
// "SIGTERM" for 15; "signal 64" where there is no name. Pure.

#include <string>

namespace muster::launch {

std::string signal_name(int signal);

}  // namespace muster::launch
