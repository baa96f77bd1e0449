// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/base64.hpp"

#include <catch2/catch.hpp>

using namespace muster::torchrun;

TEST_CASE("the examples of RFC 4648 come out both ways", "[torchrun]") {
  auto const [bytes, text] = GENERATE(table<std::string, std::string>({{"", ""},
                                                                       {"f", "Zg=="},
                                                                       {"fo", "Zm8="},
                                                                       {"foo", "Zm9v"},
                                                                       {"foob", "Zm9vYg=="},
                                                                       {"fooba", "Zm9vYmE="},
                                                                       {"foobar", "Zm9vYmFy"}}));
  CHECK(to_base64(bytes) == text);
  CHECK(from_base64(text) == bytes);
}

TEST_CASE("all bytes survive", "[torchrun]") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    auto const part = bytes.substr(0, size);
    CHECK(from_base64(to_base64(part)) == part);
  }
}

TEST_CASE("what is no base64 is refused", "[torchrun]") {
  auto const text = GENERATE(as<std::string>{}, "Zg", "Zg=", "Zm9", "Zm9v\n", "Zm 9",
                             "Zh==", "Zm9=", "====", "=Zm9", "Zg==Zg==", "Zm9*");
  INFO(text);
  CHECK_FALSE(from_base64(text));
}
