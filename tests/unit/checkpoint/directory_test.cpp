// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/checkpoint/directory.hpp"

#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>

namespace muster::worker {
namespace {

void put(std::string const& folder, std::string const& text) {
  std::string_view const piece = text;
  REQUIRE(write_synced(folder + "/" + kManifestName, {&piece, 1}));
}

void make_step(std::string const& root, std::uint64_t step, std::string const& text = "x") {
  auto const aside = begin_step(root, step, 1);
  REQUIRE(aside);
  put(*aside, text);
  REQUIRE(publish_step(root, *aside, step));
}

std::vector<std::uint64_t> steps_of(std::string const& root) {
  auto const listed = list_steps(root);
  REQUIRE(listed);
  std::vector<std::uint64_t> steps;
  for (auto const& each : *listed) steps.push_back(each.step);
  return steps;
}

using Steps = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("steps are listed newest first, complete ones only", "[checkpoint]") {
  test::TempFolder const root;
  CHECK(steps_of(root.path() + "/none").empty());
  for (auto const step : {9, 100000000, 10})
    make_step(root.path(), static_cast<std::uint64_t>(step));
  std::filesystem::create_directory(root / "step-00000011");  // no manifest
  std::filesystem::create_directory(root / "step-12");
  std::filesystem::create_directory(root / "other");
  CHECK(steps_of(root.path()) == Steps{100000000, 10, 9});
  CHECK(step_name(9) == "step-00000009");
  CHECK(step_name(1234567890) == "step-1234567890");
}

TEST_CASE("leftovers of interrupted saves are removed, and nothing else", "[checkpoint]") {
  test::TempFolder const root;
  make_step(root.path(), 1);
  std::filesystem::create_directory(root / "mine.tmp-1");
  REQUIRE(begin_step(root.path(), 2, 1));
  REQUIRE(begin_step(root.path(), 3, 2));  // the first was never published
  std::vector<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator(root.path()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"mine.tmp-1", "step-00000001", "step-00000003.tmp-2"});
}

TEST_CASE("a step that is reached again replaces the old one", "[checkpoint]") {
  test::TempFolder const root;
  make_step(root.path(), 5, "old");
  make_step(root.path(), 5, "new");
  CHECK(*read_file((root / "step-00000005").string() + "/" + kManifestName, 10) == "new");
  CHECK(steps_of(root.path()) == Steps{5});
  CHECK_FALSE(std::filesystem::exists(root / "step-00000005.tmp-1"));
}

TEST_CASE("the newest are kept", "[checkpoint]") {
  test::TempFolder const root;
  for (std::uint64_t step = 1; step <= 4; ++step) make_step(root.path(), step);
  REQUIRE(keep_newest(root.path(), 2));
  CHECK(steps_of(root.path()) == Steps{4, 3});
  REQUIRE(set_aside((root / "step-00000004").string()));
  CHECK(steps_of(root.path()) == Steps{3});
  CHECK(std::filesystem::exists(root / "step-00000004.bad"));
}

TEST_CASE("a file instead of a folder, and a file too long, are errors that name it",
          "[checkpoint]") {
  test::TempFolder const root;
  std::ofstream(root / "file") << "12345";
  auto const file = (root / "file").string();
  auto const refused = begin_step(file, 1, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find(file) != std::string::npos);
  CHECK(read_file(file, 4).error().code == Errc::corrupt);
  CHECK(read_file(file + "x", 4).error().code == Errc::not_found);
  CHECK_FALSE(write_synced(file, {}));  // an existing file is never overwritten
}

}  // namespace muster::worker
