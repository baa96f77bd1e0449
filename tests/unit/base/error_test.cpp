// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/error.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

namespace muster {

TEST_CASE("errno becomes a code that callers can branch on", "[base]") {
  CHECK(from_errno(EADDRINUSE, "bind").code == Errc::address_in_use);
  CHECK(from_errno(EACCES, "open").code == Errc::permission);
  CHECK(from_errno(ENOSPC, "write x").what == "write x: No space left on device");
  CHECK(from_errno(EMFILE, "pipe2").hint.find("ulimit -n") != std::string::npos);
  CHECK(from_errno(ENOSPC, "write x").hint.empty());
}

TEST_CASE("reserved exit codes are those of the README", "[base]") {
  CHECK(exit_code_of(Errc::rendezvous_timeout) == 80);
  CHECK(exit_code_of(Errc::below_min) == 81);
  CHECK(exit_code_of(Errc::refused) == 84);
  CHECK(exit_code_of(Errc::internal) == 95);
  CHECK(exit_code_of(Errc::bad_input) == 1);
}

TEST_CASE("the hint follows in brackets", "[base]") {
  CHECK(to_string(Error{Errc::timeout, "late", "wait longer"}) == "late (wait longer)");
  CHECK(to_string(Error{Errc::timeout, "late", {}}) == "late");
}

}  // namespace muster
