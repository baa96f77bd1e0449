// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/core/philox.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace muster::worker {
namespace {

TEST_CASE("philox gives the words of its authors' known-answer file", "[core]") {
  // Random123, kat_vectors: philox4x32 10.
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) ==
        PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream's word does not depend on how it is reached", "[core]") {
  PhiloxStream const stream(7, "0.weight");
  for (std::uint64_t i = 0; i < 40; ++i) CHECK(stream.word(i) == stream.words(i / 4)[i % 4]);
}

TEST_CASE("streams of other names, seeds and far elements differ", "[core]") {
  std::set<std::uint32_t> const words = {
      PhiloxStream(7, "0.weight").word(0), PhiloxStream(7, "2.weight").word(0),
      PhiloxStream(8, "0.weight").word(0), PhiloxStream(7ULL << 32, "0.weight").word(0),
      PhiloxStream(7, "0.weight").word(1ULL << 34)};
  CHECK(words.size() == 5);
}

TEST_CASE("a unit float is at least 0 and below 1", "[core]") {
  CHECK(unit_float(0) == 0.0F);
  CHECK(unit_float(0xffffffff) == 1.0F - 0x1.0p-24F);
}

}  // namespace
}  // namespace muster::worker
