// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products by oneDNN. Bits depend on the shape alone: how a product is cut into blocks is
// decided by its shape, each block runs on one thread, and compute threads only share the blocks.
// Primitives are cached per thread, bounded.

#include "rendezvous/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace muster::worker::cpu {

// c = op(a) * op(b), or c += with `accumulate`. Row-major: op(a) is [m, k], op(b) is [k, n],
// c is [m, n]; a transposed operand is stored the other way round.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, accumulate = false;
};

// Fails only where oneDNN does (out of memory, a CPU it does not know).
Result<void> matmul(Product const& product, std::span<float const> a, std::span<float const> b,
                    std::span<float> c);

// Primitives that this thread holds, for tests; at most kMaxPrimitives.
std::size_t cached_primitives();
inline constexpr std::size_t kMaxPrimitives = 256;

}  // namespace muster::worker::cpu
