// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/checksum.hpp"

#include <catch2/catch.hpp>

namespace muster::worker {

TEST_CASE("the checksum is gzip's, whole or in pieces", "[checkpoint]") {
  CHECK(crc32_of("123456789") == 0xCBF43926U);
  CHECK(crc32_of("6789", crc32_of("12345")) == 0xCBF43926U);
  CHECK(crc32_of("", crc32_of("123456789")) == 0xCBF43926U);
  CHECK(crc32_of({}) == 0);
}

}  // namespace muster::worker
