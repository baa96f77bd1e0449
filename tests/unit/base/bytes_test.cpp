// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/bytes.hpp"

#include <catch2/catch.hpp>

namespace muster {

TEST_CASE("what is written is read back, and nothing beyond the end", "[base]") {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.number<std::uint32_t>(0x3C85F7CE);
  writer.sized("key");
  CHECK(bytes.substr(0, 4) == "\xce\xf7\x85\x3c");

  ByteReader reader(bytes);
  CHECK(reader.number<std::uint32_t>() == 0x3C85F7CEU);
  CHECK(reader.number<std::uint64_t>() == 3U);
  CHECK_FALSE(reader.number<std::uint64_t>());
  CHECK(reader.take(3) == "key");
  CHECK_FALSE(reader.take(1));
  CHECK(reader.left() == 0);
}

}  // namespace muster
