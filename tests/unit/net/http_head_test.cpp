// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/http_head.hpp"

#include "rendezvous/base/limits.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::net;

TEST_CASE("a request's path is taken without its query", "[net]") {
  auto const got = parse_http_head("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(got);
  REQUIRE(got->has_value());
  CHECK((*got)->path == "/metrics");
  CHECK_FALSE((*got)->head_only);
  CHECK((**parse_http_head("HEAD / HTTP/1.0\r\n\r\n")).head_only);
}

TEST_CASE("a head is incomplete until its empty line", "[net]") {
  std::string const whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t n = 0; n < whole.size(); ++n) {
    auto const part = parse_http_head(std::string_view{whole}.substr(0, n));
    REQUIRE(part);
    CHECK_FALSE(part->has_value());
  }
}

TEST_CASE("what is no GET or HEAD, or too long, is refused", "[net]") {
  CHECK_FALSE(parse_http_head("GET /\r\n\r\n"));
  CHECK_FALSE(parse_http_head("GET nonsense\x01 HTTP/9.9\r\n\r\n"));
  CHECK_FALSE(parse_http_head("POST / HTTP/1.1\r\n\r\n"));
  auto const endless = "GET /" + std::string(limits::kMaxHttpHeadBytes, 'a');
  auto const refused = parse_http_head(endless);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::limit);
}

TEST_CASE("an answer says how long it is and that it is the last", "[net]") {
  HttpReply const reply{200, "text/plain", "ok\n"};
  CHECK(to_bytes(reply, false) ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\nok\n");
  CHECK_THAT(to_bytes(reply, true), Catch::EndsWith("\r\n\r\n"));
}
