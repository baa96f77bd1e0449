// SPDX-License-Identifier: Apache-2.0
#pragma once
// The IDX format of the MNIST files: two zero bytes, an element type, the number of dimensions,
// then sizes as big-endian 32-bit numbers, then the elements. Strict: the file holds exactly what
// its header announces. parse_idx is pure; read_idx reads a file, plain or gzip by its first bytes.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/tensor.hpp"

#include <string>
#include <string_view>

namespace muster::worker {

// A file that unpacks to more is refused: a header or a gzip stream must not choose our memory.
inline constexpr std::size_t kMaxIdxBytes = std::size_t{4} << 30;

// Errors name `name`. Only unsigned bytes are supported, which is all that the digit files use.
Result<Tensor> parse_idx(std::string_view bytes, std::string const& name);
Result<Tensor> read_idx(std::string const& path);

}  // namespace muster::worker
