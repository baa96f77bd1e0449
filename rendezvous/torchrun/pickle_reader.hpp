// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a Python pickle (protocols 2 to 5) of the few opcodes and names that torchrun's round state
// uses. Everything else is an error: this is data from a port that anybody may write to. Memory and
// work are bounded by the constants below, whatever the bytes say.

#include "rendezvous/base/result.hpp"
#include "rendezvous/torchrun/pickle_value.hpp"

namespace muster::torchrun::pickle {

// 20,000 nodes; beyond it CAS on one blob has long stopped to work.
inline constexpr std::size_t kMaxPickleBytes = 6u << 20;
inline constexpr std::size_t kMaxObjects = 1u << 19;
// One string in the pickle may stand in many places of the state.
inline constexpr std::size_t kMaxUnfoldedBytes = 32u << 20;
// A state is an object, its dict, a dict of it, a time, its zone, the zone's offset: 8 deep.
inline constexpr int kMaxDepth = 16;

// Errc::corrupt: no pickle, or one of other things; Errc::limit.
Result<Value> read(std::string_view bytes);

}  // namespace muster::torchrun::pickle
