// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/nearest.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace muster::launch {

TEST_CASE("the nearest word is the one with the fewest changes", "[cli]") {
  CHECK(nearest("nnode", {"node-rank", "nnodes"}) == std::string_view("nnodes"));
  CHECK(nearest("statc", {"static", "c10d"}) == std::string_view("static"));
  CHECK(nearest("tee", {"tee", "role"}) == std::string_view("tee"));
}

TEST_CASE("a word unlike any other has no nearest", "[cli]") {
  CHECK_FALSE(nearest("learning-rate", {"nnodes", "role"}));
  CHECK_FALSE(nearest("", {"tee"}));
  CHECK_FALSE(nearest("x", {}));
  CHECK_FALSE(nearest(std::string(10'000, 'x'), {"tee"}));
}

}  // namespace muster::launch
