// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/encoder.hpp"

#include "tests/unit/wire/request_samples.hpp"

#include <catch2/catch.hpp>

#include <array>

using namespace muster;
using namespace muster::wire;

namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (char const byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    auto const value = static_cast<unsigned char>(byte);
    text.push_back(kDigits[value >> 4]);
    text.push_back(kDigits[value & 15]);
  }
  return text;
}

std::string key_list(std::string& storage, std::vector<std::string> const& keys) {
  return hex(bytes_of(Wait{encode_list(keys, storage)}));
}

}  // namespace

TEST_CASE("requests are the bytes that PyTorch's client sends", "[wire]") {
  CHECK(hex(bytes_of(Validate{})) == "00cef7853c");
  CHECK(hex(bytes_of(Ping{0x77a2})) == "0da2770000");
  CHECK(hex(bytes_of(Add{"init/", 1})) == "040500000000000000696e69742f0100000000000000");
  CHECK(hex(bytes_of(Set{"/k", "v"})) == "0102000000000000002f6b010000000000000076");
  CHECK(hex(bytes_of(Get{"/k"})) == "0302000000000000002f6b");
  CHECK(hex(bytes_of(Add{"/n", -2})) == "0402000000000000002f6efeffffffffffffff");
  CHECK(hex(bytes_of(CompareSet{"/cs", "", "a"})) ==
        "0203000000000000002f63730000000000000000010000000000000061");
  CHECK(hex(bytes_of(CancelWait{})) == "0c");
  std::string storage;
  CHECK(key_list(storage, {"/k"}) == "06010000000000000002000000000000002f6b");
}

TEST_CASE("a multi_set counts pairs on the wire", "[wire]") {
  std::string storage;
  std::vector<std::string> const items{"/a", "1", "/b", "2"};
  auto const bytes = bytes_of(MultiSet{encode_list(items, storage)});
  CHECK(hex(bytes.substr(0, 9)) == "0b0200000000000000");
}

TEST_CASE("the samples hold each request type", "[wire]") {
  std::array<bool, kOpcodeCount> seen{};
  for (auto const& request : request_samples()) seen[request.index()] = true;
  for (std::size_t i = 0; i < kOpcodeCount; ++i) {
    INFO(kOpcodeNames[i]);
    CHECK(seen[i]);
  }
}
