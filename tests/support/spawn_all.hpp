// SPDX-License-Identifier: Apache-2.0
#pragma once
// A start, waited for: what the tests of processes begin with.

#include "launcher/process/spawn.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <poll.h>
#include <span>
#include <vector>

namespace muster::test {

struct Spawned {
  std::vector<launch::Child> children;
  std::optional<Error> error;
  std::size_t failed = 0;
};

inline Spawned spawn_all(std::span<launch::Command const> commands,
                         launch::Inherited const& inherited) {
  launch::Spawning spawning({commands.begin(), commands.end()}, inherited);
  Spawned result;
  result.children = spawning.take_children();
  while (!spawning.finished()) {
    pollfd watched{spawning.report(), POLLIN, 0};
    REQUIRE(::poll(&watched, 1, 20'000) == 1);
  }
  result.error = spawning.error();
  result.failed = spawning.failed();
  return result;
}

}  // namespace muster::test
