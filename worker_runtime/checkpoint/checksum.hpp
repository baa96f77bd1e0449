// SPDX-License-Identifier: Apache-2.0
#pragma once
// CRC-32 (gzip's, zlib's, Python's zlib.crc32) of bytes that come in pieces. Pure.

#include <cstdint>
#include <string_view>

namespace muster::worker {

std::uint32_t crc32_of(std::string_view bytes, std::uint32_t before = 0);

}  // namespace muster::worker
