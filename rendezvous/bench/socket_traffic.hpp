// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace muster::bench {

// Bytes that went over a TCP socket so far, both ways, as its peer acknowledged or sent them.
std::uint64_t bytes_over(int descriptor);

}  // namespace muster::bench
