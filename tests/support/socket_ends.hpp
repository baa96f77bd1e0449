// SPDX-License-Identifier: Apache-2.0
#pragma once
// A connection inside this process, for what is told to whoever listens.

#include "rendezvous/base/unique_fd.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>

namespace muster::test {

struct SocketEnds {
  UniqueFd ours, theirs;

  SocketEnds() {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
};

}  // namespace muster::test
