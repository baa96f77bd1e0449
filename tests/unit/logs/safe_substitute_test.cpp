// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/safe_substitute.hpp"

#include <catch2/catch.hpp>

using namespace muster::launch;

namespace {

std::string filled(std::string_view pattern) {
  return safe_substitute(pattern, [](std::string_view name) {
    return name == "a" || name == "a_1" ? std::optional(std::string("<") + std::string(name) + ">")
                                        : std::nullopt;
  });
}

}  // namespace

TEST_CASE("a name is filled in with and without braces", "[logs]") {
  CHECK(filled("x$a-${a}y${a_1}$a_1.") == "x<a>-<a>y<a_1><a_1>.");
  CHECK(filled("") == "");
  CHECK(filled("$a") == "<a>");
}

TEST_CASE("two dollars are one, whatever follows", "[logs]") {
  CHECK(filled("$$a $${a} $$$a $$$$") == "$a ${a} $<a> $$");
}

TEST_CASE("what names nothing stays", "[logs]") {
  CHECK(filled("$b ${b} $ab ${a ${} ${a-} $1 $-") == "$b ${b} $ab ${a ${} ${a-} $1 $-");
  CHECK(filled("$") == "$");
  CHECK(filled("${") == "${");
}
