// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/decoder.hpp"

#include "rendezvous/base/bytes.hpp"
#include "tests/unit/wire/request_samples.hpp"

#include <catch2/catch.hpp>

#include <memory>

using namespace muster;
using namespace muster::wire;

namespace {

std::string stream_of_all() {
  std::string stream;
  for (auto const& request : request_samples()) encode(request, stream);
  return stream;
}

// What a decoder makes of a stream that arrives in pieces, encoded again.
std::string decode_in_pieces(std::string_view stream, std::size_t piece) {
  RequestDecoder decoder;
  std::string again;
  std::string input;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    input.append(stream.substr(at, piece));
    while (true) {
      auto const found = decoder.next(input);
      REQUIRE(found);
      if (!found->has_value()) break;
      encode((*found)->message, again);
      input.erase(0, (*found)->consumed);
    }
  }
  CHECK(input.empty());
  return again;
}

std::string head(Opcode opcode, std::uint64_t number) {
  std::string bytes(1, static_cast<char>(opcode));
  ByteWriter{bytes}.number(number);
  return bytes;
}

Errc refusal_of(std::string_view bytes) {
  RequestDecoder decoder;
  auto const found = decoder.next(bytes);
  REQUIRE_FALSE(found);
  return found.error().code;
}

bool is_incomplete(std::string_view bytes) {
  RequestDecoder decoder;
  auto const found = decoder.next(bytes);
  REQUIRE(found);
  return !found->has_value();
}

}  // namespace

TEST_CASE("each request is decoded to what was encoded, and no byte more is read", "[wire]") {
  for (auto const& request : request_samples()) {
    auto const bytes = bytes_of(request);
    // A copy of exactly that size, so that a sanitizer sees a read beyond it.
    std::unique_ptr<char[]> const exact(new char[bytes.size()]);
    bytes.copy(exact.get(), bytes.size());
    RequestDecoder decoder;
    auto const found = decoder.next({exact.get(), bytes.size()});
    REQUIRE(found);
    REQUIRE(found->has_value());
    CHECK((*found)->message.index() == request.index());
    CHECK((*found)->consumed == bytes.size());
    CHECK(bytes_of((*found)->message) == bytes);
  }
}

TEST_CASE("a request is incomplete until its last byte", "[wire]") {
  for (auto const& request : request_samples()) {
    auto const bytes = bytes_of(request);
    for (std::size_t n = 0; n < bytes.size(); ++n) CHECK(is_incomplete(bytes.substr(0, n)));
  }
}

TEST_CASE("a stream means the same in whatever pieces it arrives", "[wire]") {
  auto const stream = stream_of_all();
  auto const piece = GENERATE(1u, 2u, 3u, 7u, 8u, 9u, 64u, 4096u);
  CHECK(decode_in_pieces(stream, piece) == stream);
}

TEST_CASE("a long list that arrives byte by byte is scanned once, not once per byte", "[wire]") {
  std::vector<std::string> const keys(20'000, "/key");
  std::string storage;
  auto const stream = bytes_of(MultiGet{encode_list(keys, storage)});
  CHECK(decode_in_pieces(stream, 997) == stream);
}

TEST_CASE("an unknown request type is refused", "[wire]") {
  CHECK(refusal_of("\x13") == Errc::protocol);
  CHECK(refusal_of("\xff") == Errc::protocol);
}

TEST_CASE("a length beyond its limit is refused before its bytes arrive", "[wire]") {
  CHECK(is_incomplete(head(Opcode::get, limits::kMaxKeyBytes)));
  CHECK(refusal_of(head(Opcode::get, limits::kMaxKeyBytes + 1)) == Errc::limit);
  CHECK(refusal_of(head(Opcode::get, ~std::uint64_t{0})) == Errc::limit);
  auto value = bytes_of(Get{"/k"});
  value[0] = static_cast<char>(Opcode::set);
  ByteWriter{value}.number<std::uint64_t>(limits::kMaxValueBytes + 1);
  CHECK(refusal_of(value) == Errc::limit);
}

TEST_CASE("a list of too many keys is refused by its count", "[wire]") {
  auto const opcode = GENERATE(Opcode::check, Opcode::wait, Opcode::multi_get, Opcode::multi_set);
  CHECK(is_incomplete(head(opcode, limits::kMaxKeyCount)));
  CHECK(refusal_of(head(opcode, limits::kMaxKeyCount + 1)) == Errc::limit);
}

TEST_CASE("values that are legal one by one are refused where together they are too many",
          "[wire]") {
  auto stream = head(Opcode::multi_set, 9);
  std::string const value(limits::kMaxValueBytes, 'x');
  for (int i = 0; i < 8; ++i) {
    ByteWriter{stream}.sized("/k");
    ByteWriter{stream}.sized(value);
  }
  CHECK(refusal_of(stream) == Errc::limit);
}

TEST_CASE("keys of a multi_set have the limit of keys, values that of values", "[wire]") {
  auto stream = head(Opcode::multi_set, 1);
  auto long_key = stream;
  ByteWriter{long_key}.number<std::uint64_t>(limits::kMaxKeyBytes + 1);
  CHECK(refusal_of(long_key) == Errc::limit);
  ByteWriter{stream}.sized("/k");
  ByteWriter{stream}.number<std::uint64_t>(limits::kMaxKeyBytes + 1);
  CHECK(is_incomplete(stream));
}
