// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers about control connections, for metrics.

#include "rendezvous/control/fault.hpp"

#include <array>
#include <cstdint>

namespace muster::net {

struct ControlCounters {
  std::uint64_t accepted = 0;
  std::uint64_t newcomers = 0;                                     // open now, without a letter
  std::array<std::uint64_t, control::kFaultNames.size()> ended{};  // by Fault
};

}  // namespace muster::net
