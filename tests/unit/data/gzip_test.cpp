// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/gzip.hpp"

#include <catch2/catch.hpp>
#include <zlib.h>

namespace muster::worker {
namespace {

std::string gzip(std::string const& plain) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, plain.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

TEST_CASE("what was packed is unpacked, members one after another too", "[data]") {
  auto const size = GENERATE(0U, 1U, 65535U, 65536U, 65537U, 1000000U);
  std::string plain(size, 'a');
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<char>(i * i % 251);
  auto const once = gunzip(gzip(plain), 2000000);
  REQUIRE(once);
  CHECK(*once == plain);
  auto const twice = gunzip(gzip(plain) + gzip("end"), 2000000);
  REQUIRE(twice);
  CHECK(*twice == plain + "end");
}

TEST_CASE("cut, damaged and followed streams are errors", "[data]") {
  auto const packed = gzip(std::string(1000, 'x') + "yz");
  for (std::size_t cut = 0; cut < packed.size(); ++cut)
    CHECK_FALSE(gunzip(packed.substr(0, cut), 5000));
  auto damaged = packed;
  damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 1);  // its checksum
  CHECK_FALSE(gunzip(damaged, 5000));
  auto const followed = gunzip(packed + "tail", 5000);
  REQUIRE_FALSE(followed);
  CHECK(followed.error().what == "4 bytes after the gzip stream");
}

TEST_CASE("a stream does not unpack to more than the limit", "[data]") {
  auto const bomb = gunzip(gzip(std::string(1000000, '\0')), 1000);
  REQUIRE_FALSE(bomb);
  CHECK(bomb.error().code == Errc::limit);
}

}  // namespace muster::worker
