// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/item_scan.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::wire;

TEST_CASE("a scan goes on where it stopped", "[wire]") {
  std::string bytes = "xy";
  ByteWriter{bytes}.sized("one");
  ByteWriter{bytes}.sized("two");
  ItemScan scan;
  scan.restart(2);
  for (std::size_t n = 2; n < bytes.size(); ++n) {
    auto const part = scan.advance(std::string_view{bytes}.substr(0, n), 2, 100);
    REQUIRE(part);
    CHECK_FALSE(*part);
  }
  CHECK(*scan.advance(bytes, 2, 100));
  CHECK(scan.position() == bytes.size());
}

TEST_CASE("fields after an incomplete one read as nothing", "[wire]") {
  FieldReader in{std::string_view("\x05\0\0\0\0\0\0\0ab", 10)};
  CHECK(in.key().empty());
  CHECK(in.number<std::uint64_t>() == 0);
  CHECK(in.value().empty());
  CHECK(in.state() == FieldReader::State::incomplete);
}

TEST_CASE("a refused field says what was seen and what is allowed", "[wire]") {
  std::string bytes;
  ByteWriter{bytes}.number<std::uint64_t>(9'000);
  FieldReader in{bytes};
  CHECK(in.key().empty());
  REQUIRE(in.state() == FieldReader::State::refused);
  CHECK(in.error().what == "a field of 9000 bytes exceeds the limit of 8192");
}
