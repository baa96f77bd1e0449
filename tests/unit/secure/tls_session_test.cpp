// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/tls_session.hpp"

#include "tests/unit/secure/secured.hpp"

using namespace muster;
using namespace muster::net;

namespace {

struct Sessions {
  std::unique_ptr<TlsSession> caller, host;
  std::string caller_heard, host_heard;
  std::optional<Error> caller_error, host_error;

  Sessions(Security::Ptr const& callers, Security::Ptr const& hosts)
      : caller(callers->tls_session(control::Role::caller)),
        host(hosts->tls_session(control::Role::host)) {}

  static void pass(std::string_view bytes, TlsSession& to, std::string& heard,
                   std::optional<Error>& error, std::size_t piece) {
    for (std::size_t at = 0; at < bytes.size() && !error; at += piece) {
      auto plain = to.feed(bytes.substr(at, piece));
      if (plain)
        heard += *plain;
      else
        error = plain.error();
    }
  }
  void run(std::size_t piece = 1'000'000) {
    for (;;) {
      auto const to_host = caller->drain(), to_caller = host->drain();
      if (to_host.empty() && to_caller.empty()) return;
      pass(to_host, *host, host_heard, host_error, piece);
      pass(to_caller, *caller, caller_heard, caller_error, piece);
    }
  }
};

}  // namespace

TEST_CASE("two sides of one authority talk, wherever the bytes are cut", "[secure]") {
  auto const piece = GENERATE(std::size_t{1}, 7, 1'000'000);
  Sessions both(with_tls(), with_tls());
  std::string const large(100'000, 'x');
  both.caller->write("early ");  // before the handshake
  both.run(piece);
  REQUIRE(both.caller->established());
  REQUIRE(both.host->established());
  both.caller->write(large);
  both.host->write("answer");
  both.run(piece);
  CHECK(both.host_heard == "early " + large);
  CHECK(both.caller_heard == "answer");
  CHECK(both.caller->binding() == both.host->binding());
}

TEST_CASE("each session has a binding of its own", "[secure]") {
  Sessions one(with_tls(), with_tls()), other(with_tls(), with_tls());
  one.run();
  other.run();
  CHECK(one.caller->binding() != other.caller->binding());
}

TEST_CASE("a caller of another authority is refused, and told", "[secure]") {
  Sessions both(with_tls("stranger", "ca"), with_tls());
  both.run();
  REQUIRE(both.host_error);
  CHECK(both.host_error->code == Errc::refused);
  REQUIRE(both.caller_error);
  CHECK(both.caller_error->what.find("unknown ca") != std::string::npos);
}

TEST_CASE("a host of another authority is refused by its caller", "[secure]") {
  Sessions both(with_tls(), with_tls("stranger", "ca"));
  both.run();
  REQUIRE(both.caller_error);
  CHECK(both.caller_error->code == Errc::refused);
}

TEST_CASE("a certificate that is out of date is refused with that reason", "[secure]") {
  Sessions both(with_tls(), with_tls("expired"));
  both.run();
  REQUIRE(both.caller_error);
  CHECK(both.caller_error->what.find("expired") != std::string::npos);
}

TEST_CASE("bytes that are no TLS, or changed on their way, end the session", "[secure]") {
  auto const security = with_tls();
  auto const host = security->tls_session(control::Role::host);
  CHECK_FALSE(host->feed(std::string_view("\x16\x03\x01\0\x08no hello", 13)));
  CHECK_FALSE(host->feed("more"));
  Sessions both(security, security);
  both.run();
  both.caller->write("a message");
  auto bytes = both.caller->drain();
  bytes[bytes.size() / 2] ^= 1;
  CHECK_FALSE(both.host->feed(bytes));
}
