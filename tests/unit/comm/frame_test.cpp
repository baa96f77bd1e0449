// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/frame.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::worker;

namespace {

FrameHeader some_header() {
  FrameHeader header;
  header.sequence = 77;
  header.signature.kind = OpKind::reduce_scatter;
  header.signature.op = ReduceOp::max;
  header.signature.dtype = DType::i64;
  header.signature.elements = 1'000'000'007;
  header.signature.root = 3;
  header.signature.counts_hash = 99;
  header.signature.factor = 0.25;
  header.algorithm = Algorithm::slices;
  header.round = 2;
  header.offset = 65'536;
  header.length = 262'144;
  return header;
}

}  // namespace

TEST_CASE("a frame header comes back as it was written") {
  auto const decoded = decode_frame(encode(some_header()));
  REQUIRE(decoded);
  CHECK(*decoded == some_header());
}

TEST_CASE("a frame header with a wrong magic, enum or bound is refused") {
  auto const good = encode(some_header());
  for (std::size_t const at : {0u, 4u, 5u, 6u, 7u}) {
    auto bytes = good;
    bytes[at] = std::byte{0xEE};
    INFO("byte " << at);
    REQUIRE(!decode_frame(bytes));
    CHECK(decode_frame(bytes).error().code == Errc::protocol);
  }
  auto header = some_header();
  header.length = static_cast<std::uint32_t>(kMaxSegmentBytes + 1);
  CHECK(!decode_frame(encode(header)));
  header = some_header();
  header.signature.elements = -1;
  CHECK(!decode_frame(encode(header)));
}
