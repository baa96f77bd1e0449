// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/layout.hpp"

#include <catch2/catch.hpp>

using namespace muster::launch;

TEST_CASE("folders and files lie where torchrun puts them", "[logs]") {
  CHECK(run_folder_name("job7", "a1b2c3d4") == "job7_a1b2c3d4");
  CHECK(attempt_folder_name(2, 0) == "attempt_2");
  auto const paths = worker_paths("/l/job7_x/attempt_2", 3);
  CHECK(paths.folder == "/l/job7_x/attempt_2/3");
  CHECK(paths.out == "/l/job7_x/attempt_2/3/stdout.log");
  CHECK(paths.err == "/l/job7_x/attempt_2/3/stderr.log");
  CHECK(paths.error_file == "/l/job7_x/attempt_2/3/error.json");
  CHECK(filtered_path("/l/a", false) == "/l/a/filtered_stdout.log");
  CHECK(filtered_path("/l/a", true) == "/l/a/filtered_stderr.log");
}

TEST_CASE("a further round with the same restart count gets a folder of its own", "[logs]") {
  CHECK(attempt_folder_name(0, 1) == "attempt_0.1");
  CHECK(attempt_folder_name(3, 12) == "attempt_3.12");
}

TEST_CASE("a run id with slashes or without end still names one folder", "[logs]") {
  CHECK(run_folder_name("team/job\n7", "x") == "team_job_7_x");
  CHECK(run_folder_name(std::string(5'000, 'r'), "x").size() < 255);
}
