// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/process_tree.hpp"

#include "tests/support/spawn_all.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <csignal>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>

using namespace muster;
using namespace muster::launch;

TEST_CASE("a tree of processes is ended whole, sessions of their own included", "[process]") {
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  Inherited inherited;
  sigemptyset(&inherited.mask);
  Command command;
  command.path = "/bin/sh";
  // One in a session of its own, one whose parent is gone, one that ignores TERM.
  command.argv = {
      "sh", "-c",
      "setsid sleep 300 & (sleep 300 & sleep 300 &) ; trap '' TERM; echo up; sleep 300"};
  command.environment = {"PATH=/usr/bin:/bin"};
  command.out = pipe->write_end.get();
  auto spawned = test::spawn_all({&command, 1}, inherited);
  REQUIRE(!spawned.error);
  pipe->write_end.reset();
  char byte = 0;
  REQUIRE(::read(pipe->read_end.get(), &byte, 1) == 1);
  std::array<pid_t, 16> children{};
  CHECK(list_children(::getpid(), children.data(), children.size()) >= 1);
  auto const end = end_descendants(std::chrono::seconds{20});
  CHECK(end.complete);
  CHECK(end.killed >= 3);
  CHECK(!has_children());
  // The last write end is closed only when nobody of the tree is left.
  std::string rest(64, '\0');
  REQUIRE(::read(pipe->read_end.get(), rest.data(), rest.size()) >= 0);
  CHECK(::read(pipe->read_end.get(), rest.data(), rest.size()) == 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("without children there is nothing to end", "[process]") {
  auto const end = end_descendants(std::chrono::seconds{1});
  CHECK(end.complete);
  CHECK(end.killed == 0);
}
