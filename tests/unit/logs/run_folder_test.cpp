// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/run_folder.hpp"

#include "tests/support/temp_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>

using namespace muster;
using namespace muster::launch;

namespace {

using Map = std::map<std::string, std::string, std::less<>>;

bool is_in(std::string const& path, std::string const& place) {
  return path.find(place + "/torchelastic_") == 0;
}

}  // namespace

TEST_CASE("a temporary place that cannot be written is passed over, as torchrun does", "[logs]") {
  test::TempFolder const folder;
  auto const file = folder.path() + "/file";
  std::ofstream{file} << "no folder";
  for (auto const& places :
       {Map{{"TMPDIR", ""}, {"TEMP", folder.path()}}, Map{{"TMPDIR", file}, {"TMP", folder.path()}},
        Map{{"TMPDIR", "/none"}, {"TEMP", folder.path()}}}) {
    auto const made = make_run_folder(RunOptions{}, EnvView(places));
    REQUIRE(made);
    CHECK(is_in(*made, folder.path()));
    CHECK(std::filesystem::is_directory(*made));
  }
}

TEST_CASE("a log folder that is a file is refused by name", "[logs]") {
  test::TempFolder const folder;
  RunOptions options;
  options.log_dir = folder.path() + "/file";
  std::ofstream{*options.log_dir} << "no folder";
  auto const made = make_run_folder(options, EnvView());
  REQUIRE(!made);
  CHECK(made.error().what.find(*options.log_dir) != std::string::npos);
  CHECK(made.error().hint.find("--log-dir") != std::string::npos);
}
