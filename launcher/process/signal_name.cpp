// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/signal_name.hpp"

#include <cstring>

namespace muster::launch {

std::string signal_name(int signal) {
  char const* const name = ::sigabbrev_np(signal);
  if (name == nullptr) return "signal " + std::to_string(signal);
  return std::string("SIG") + name;
}

}  // namespace muster::launch
