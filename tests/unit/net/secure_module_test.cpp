// SPDX-License-Identifier: Apache-2.0
// What happens without the module; with it: tests/unit/secure.
#include "rendezvous/net/secure_module.hpp"

#include "rendezvous/net/security.hpp"
#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace muster;
using namespace muster::net;

TEST_CASE("nothing asked needs no module", "[net]") {
  auto const security = Security::make({});
  REQUIRE(security);
  CHECK(*security == nullptr);
}

TEST_CASE("a module that is missing or none is an error that says what needs it", "[net]") {
  test::TempFolder const folder;
  auto const path = (folder / "libmuster_secure.so").string();
  auto module = SecureModule::open(path);
  REQUIRE_FALSE(module);
  CHECK(module.error().code == Errc::unsupported);
  CHECK(module.error().what.find(path) != std::string::npos);
  CHECK(module.error().hint.find("job tokens and TLS need it") == 0);
  std::ofstream(path) << "no library";
  module = SecureModule::open(path);
  REQUIRE_FALSE(module);
  CHECK(module.error().code == Errc::unsupported);
}

TEST_CASE("the module is looked for beside the program and where it is installed", "[net]") {
  auto const places = module_places("/opt/muster/bin/");
  REQUIRE(places.size() == 3);
  CHECK(places[0] == "/opt/muster/bin/libmuster_secure.so");
  CHECK(places[1] == "/opt/muster/bin/../lib/muster/libmuster_secure.so");
}
