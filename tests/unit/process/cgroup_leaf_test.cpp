// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/cgroup_leaf.hpp"

#include "tests/support/spawn_all.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <poll.h>
#include <unistd.h>

using namespace muster;
using namespace muster::launch;

TEST_CASE("our own cgroup is the line of the second version", "[process]") {
  CHECK(*own_cgroup("9:name=systemd:/\n0::/user.slice/a b\n") == "/user.slice/a b");
  CHECK(own_cgroup("0::/\n")->empty());
  CHECK(*own_cgroup("10::/x\n0::/y\n") == "/y");
  CHECK(!own_cgroup("9:cpu:/\n"));
  CHECK(!own_cgroup("0::/../above\n"));
  CHECK(!own_cgroup(""));
}

TEST_CASE("a worker is born in the leaf and dies of its end, with its leaf removed", "[process]") {
  std::string path;
  {
    auto leaf = CgroupLeaf::make(0);
    if (!leaf) {
      WARN("no cgroup v2 that can be written: left out");
      return;
    }
    path = leaf->path();
    Inherited inherited;
    sigemptyset(&inherited.mask);
    Command command;
    command.path = "/bin/sleep";
    command.argv = {"sleep", "600"};
    command.cgroup = leaf->folder();
    auto spawned = test::spawn_all({&command, 1}, inherited);
    REQUIRE(!spawned.error);
    leaf->kill();
    CHECK(leaf->is_spent());
    pollfd watched{spawned.children[0].pidfd(), POLLIN, 0};
    REQUIRE(::poll(&watched, 1, 20'000) == 1);
    CHECK(spawned.children[0].peek() == ExitStatus{0, SIGKILL});
    spawned.children[0].reap();
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("a leaf of a cgroup that was never killed lets its workers live", "[process]") {
  auto const leaf = CgroupLeaf::make(1);
  if (leaf) CHECK(leaf->lets_live());
}
