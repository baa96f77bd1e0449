// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/machine.hpp"

#include "tests/unit/environment/fake_file_system.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {

TEST_CASE("a processor quota is the smallest of the group's and its parents'", "[environment]") {
  FakeFileSystem files;
  files.file("/proc/self/cgroup", "0::/a/b\n");
  CHECK(cgroup_cpu_quota(files) == 0);
  files.file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
      .file("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  CHECK(cgroup_cpu_quota(files) == 2.5);
  files.file("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
  CHECK(cgroup_cpu_quota(files) == 1.0);
  files.file("/sys/fs/cgroup/cpu.max", "50000 100000\n");  // the root, as a container sees its own
  CHECK(cgroup_cpu_quota(files) == 0.5);
}

TEST_CASE("an old cgroup hierarchy has its quota too", "[environment]") {
  FakeFileSystem files;
  files.file("/proc/self/cgroup", "5:cpu,cpuacct:/x\n");
  files.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  files.file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_cpu_quota(files) == 3.0);
  files.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  CHECK(cgroup_cpu_quota(files) == 0);
}

TEST_CASE("nonsense in the quota files means no limit", "[environment]") {
  FakeFileSystem files;
  files.file("/proc/self/cgroup", "0::/\n");
  for (auto const* text : {"", "x", "1", "0 0", "100000 0\n", "-5 100000\n"}) {
    INFO(text);
    files.file("/sys/fs/cgroup/cpu.max", text);
    CHECK(cgroup_cpu_quota(files) == 0);
  }
}

TEST_CASE("this machine has a processor that we may use", "[environment]") {
  auto const machine = probe_machine({}, RealFileSystem(), false);
  CHECK(machine.cpus_online >= 1);
  CHECK_FALSE(machine.cpus_allowed.empty());
  CHECK(machine.gpus.empty());
}

}  // namespace muster::launch
