// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/entry_check.hpp"

#include "tests/unit/environment/fake_file_system.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

RunOptions entry(EntryKind kind, std::string program) {
  RunOptions options;
  options.entry = kind;
  options.program = std::move(program);
  return options;
}

std::optional<EntryProblem> check(EntryKind kind, std::string program, FileSystem const& files) {
  return check_entry(entry(kind, std::move(program)),
                     EnvView(std::map<std::string, std::string, std::less<>>{{"PATH", "/bin"}}),
                     files);
}

}  // namespace

TEST_CASE("a script that is missing or unreadable is told before anything starts",
          "[environment]") {
  FakeFileSystem files;
  files.file("train.py").unreadable("secret.py").file("pkg/__main__.py").file("data/x");
  CHECK_FALSE(check(EntryKind::script, "train.py", files));
  CHECK_FALSE(check(EntryKind::script, "pkg", files));
  auto problem = check(EntryKind::script, "trian.py", files);
  REQUIRE(problem);
  CHECK(problem->exit_code == 127);
  CHECK(problem->error.what == "the script 'trian.py' does not exist");
  problem = check(EntryKind::run_path, "secret.py", files);
  REQUIRE(problem);
  CHECK(problem->exit_code == 126);
  problem = check(EntryKind::script, "data", files);
  REQUIRE(problem);
  CHECK(problem->error.what == "'data' is a folder without __main__.py");
}

TEST_CASE("what only Python or a rank can know is left to them", "[environment]") {
  FakeFileSystem const files;
  CHECK_FALSE(check(EntryKind::module, "no.such.module", files));
  CHECK_FALSE(check(EntryKind::script, "-", files));
  CHECK_FALSE(check(EntryKind::script, "run_${local_rank}.py", files));
}

TEST_CASE("a command must be found and executable", "[environment]") {
  FakeFileSystem files;
  files.program("/bin/true")
      .program("./run.sh")
      .file("train.py")
      .file("./train.py")
      .file("./dir/x");
  CHECK_FALSE(check(EntryKind::no_python, "true", files));
  CHECK_FALSE(check(EntryKind::no_python, "./run.sh", files));
  auto problem = check(EntryKind::no_python, "flase", files);
  REQUIRE(problem);
  CHECK(problem->exit_code == 127);
  CHECK(problem->error.what == "the command 'flase' is not in PATH");
  problem = check(EntryKind::no_python, "./train.py", files);
  REQUIRE(problem);
  CHECK(problem->exit_code == 126);
  CHECK(problem->error.hint.find("chmod +x") == 0);
  problem = check(EntryKind::no_python, "train.py", files);
  REQUIRE(problem);
  CHECK(problem->error.hint == "leave out --no-python if it is a Python script");
  problem = check(EntryKind::no_python, "./dir", files);
  REQUIRE(problem);
  CHECK(problem->exit_code == 126);
  problem = check(EntryKind::no_python, "/bin/gone", files);
  REQUIRE(problem);
  CHECK(problem->error.what == "the command '/bin/gone' does not exist");
}

}  // namespace muster::launch
