// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/secure/secured.hpp"

#include <array>
#include <set>

using namespace muster;
using namespace muster::net;

namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (auto const each : bytes) {
    auto const value = static_cast<unsigned char>(each);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("HMAC-SHA256 is RFC 4231's, however the bytes are parted", "[secure]") {
  auto const mac = the_module().mac();
  std::array<std::string_view, 1> const whole{"Hi There"};
  std::array<std::string_view, 3> const parts{"Hi", "", " There"};
  auto const* const expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
  std::string const key(20, '\x0b');
  CHECK(hex(mac(key, whole)) == expected);
  CHECK(hex(mac(key, parts)) == expected);
  std::array<std::string_view, 1> const question{"what do ya want for nothing?"};
  CHECK(hex(mac("Jefe", question)) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  std::array<std::string_view, 1> const long_key{
      "Test Using Larger Than Block-Size Key - Hash Key First"};
  CHECK(hex(mac(std::string(131, '\xaa'), long_key)) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("no nonce comes twice", "[secure]") {
  auto const security = with_token();
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) {
    auto const nonce = security->fresh_nonce();
    REQUIRE(nonce);
    CHECK(nonce->size() == control::kNonceBytes);
    CHECK(seen.insert(*nonce).second);
  }
}

TEST_CASE("files that cannot be used are named with the reason", "[secure]") {
  auto const refused = [](TlsFiles const& files, std::string const& words) {
    auto const made = Security::make({std::nullopt, files}, the_module());
    REQUIRE_FALSE(made);
    INFO(made.error().what);
    CHECK(made.error().code == Errc::bad_input);
    CHECK(made.error().what.find(words) != std::string::npos);
  };
  auto files = tls_files();
  files.certificate = "/nowhere/node.pem";
  refused(files, "the certificate /nowhere/node.pem: No such file");
  files = tls_files();
  files.key = files.certificate;
  refused(files, "the private key " + files.key);
  files = tls_files();
  files.key = tls_files("stranger").key;
  refused(files, "the private key " + files.key);  // of another certificate
  files = tls_files();
  files.authority = files.key;
  refused(files, "the authority's certificate " + files.authority);
}
