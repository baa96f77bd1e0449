// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/wire/greeting.hpp"

#include <catch2/catch.hpp>

using namespace muster::wire;

TEST_CASE("three protocols are told apart by their first bytes", "[wire]") {
  CHECK(classify(std::string_view("\x00\xCE\xF7\x85\x3C\x0d", 6)) == Greeting::store);
  CHECK(classify("MUSTER\x01") == Greeting::control);
  CHECK(classify("GET /metrics HTTP/1.1") == Greeting::http);
  CHECK(classify("HEAD / HTTP/1.0") == Greeting::http);
}

TEST_CASE("a prefix of a greeting is undecided", "[wire]") {
  CHECK(classify("") == Greeting::undecided);
  for (auto const whole :
       {kStoreGreeting, kControlGreeting, std::string_view("GET "), std::string_view("HEAD ")})
    for (std::size_t n = 0; n < whole.size(); ++n)
      CHECK(classify(whole.substr(0, n)) == Greeting::undecided);
}

TEST_CASE("anything else is unknown with the first byte that differs", "[wire]") {
  CHECK(classify("x") == Greeting::unknown);
  CHECK(classify("GEX") == Greeting::unknown);
  CHECK(classify("POST / HTTP/1.1") == Greeting::unknown);
  CHECK(classify("MUSTARD") == Greeting::unknown);
  CHECK(classify(std::string_view("\x00\xCE\xF7\x00", 4)) == Greeting::unknown);
  CHECK(classify("\x16\x02\x01") == Greeting::unknown);  // no TLS of any version
}
