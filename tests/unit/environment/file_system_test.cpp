// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/file_system.hpp"

#include "tests/unit/environment/fake_file_system.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {

TEST_CASE("an executable is found in the order of PATH", "[environment]") {
  FakeFileSystem files;
  files.program("/b/tool").program("/c/tool").file("/a/tool").program("./here");
  CHECK(find_executable(files, "/a:/b:/c", "tool") == "/b/tool");
  CHECK(find_executable(files, "/a", "tool") == std::nullopt);
  CHECK(find_executable(files, "/a:", "here") == "./here");  // an empty folder is the current one
  CHECK(find_executable(files, "/a", "/c/tool") == "/c/tool");
  CHECK(find_executable(files, "/a", "") == std::nullopt);
}

TEST_CASE("the real file system answers for what every Linux has", "[environment]") {
  RealFileSystem const files;
  CHECK(files.kind("/proc") == FileKind::folder);
  CHECK(files.kind("/proc/self/status") == FileKind::file);
  CHECK(files.kind("/dev/null") == FileKind::other);
  CHECK(files.kind("/no/such/file") == FileKind::missing);
  CHECK(files.can_execute("/bin/sh"));
  CHECK_FALSE(files.can_execute("/proc"));
  REQUIRE(files.read("/proc/self/status"));
  CHECK(files.read("/proc/self/status")->find("Pid:") != std::string::npos);
  CHECK_FALSE(files.read("/no/such/file"));
  CHECK_FALSE(files.list("/proc/self").empty());
  CHECK(files.list("/no/such/folder").empty());
  CHECK(files.resolve("/proc/self/../self/status").find("..") == std::string::npos);
}

}  // namespace muster::launch
