// SPDX-License-Identifier: Apache-2.0
#pragma once
// First values of parameters, as a pure function of (seed, full name, element): a rank that holds
// only elements [begin, end) draws just those, and they are the ones that any other rank would
// draw.

#include "worker_runtime/core/param.hpp"

#include <cstdint>
#include <span>

namespace muster::worker {

// Writes elements [begin, begin + out.size()) of the parameter described by `spec`.
void fill_initial(ParamSpec const& spec, std::uint64_t seed, std::int64_t begin,
                  std::span<float> out);

}  // namespace muster::worker
