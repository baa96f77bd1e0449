// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that the engine keeps for metrics. Plain values; read between two calls of apply().

#include "rendezvous/wire/opcode.hpp"

#include <array>
#include <cstdint>

namespace muster::store {

struct Counters {
  std::array<std::uint64_t, wire::kOpcodeCount> requests{};  // by opcode, VALIDATE by the session
  std::uint64_t wakes = 0;          // waits that ended because their keys came
  std::uint64_t cancels = 0;        // waits that CANCEL_WAIT ended
  std::uint64_t refused = 0;        // requests after which the connection was closed
  std::uint64_t key_bytes = 0;      // of the keys that exist now
  std::uint64_t value_bytes = 0;    // of their values
  std::uint64_t queued_values = 0;  // in all queues now
  std::uint64_t queued_bytes = 0;
};

}  // namespace muster::store
