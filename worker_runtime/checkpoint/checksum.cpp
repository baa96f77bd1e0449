// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/checksum.hpp"

#include <zlib.h>

namespace muster::worker {

std::uint32_t crc32_of(std::string_view bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // zlib takes a null pointer for a question
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
}

}  // namespace muster::worker
