// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/interpreter.hpp"

#include "tests/unit/environment/fake_file_system.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using Map = std::map<std::string, std::string, std::less<>>;

Interpreter chosen(Map variables, std::string const& called_as, FileSystem const& files) {
  auto python = choose_interpreter(EnvView(std::move(variables)), called_as, files);
  if (!python) FAIL(to_string(python.error()));
  return *std::move(python);
}

FakeFileSystem everything() {
  FakeFileSystem files;
  files.program("/exec/python").program("/beside/bin/python").file("/beside/pyvenv.cfg");
  files.program("/venv/bin/python").program("/conda/bin/python");
  files.link("/usr/bin/python3", "/usr/bin/python3.11").program("/usr/bin/python");
  return files;
}

}  // namespace

TEST_CASE("the interpreter is looked for in six places, in order", "[environment]") {
  auto const files = everything();
  Map variables{{"PYTHON_EXEC", "/exec/python"},
                {"VIRTUAL_ENV", "/venv"},
                {"CONDA_PREFIX", "/conda"},
                {"PATH", "/bin:/usr/bin"}};
  auto const* const called_as = "/beside/bin/torchrun";
  CHECK(chosen(variables, called_as, files).path == "/exec/python");
  variables.erase("PYTHON_EXEC");
  CHECK(chosen(variables, called_as, files).path == "/beside/bin/python");
  CHECK(chosen(variables, called_as, files).reason == "beside torchrun");
  CHECK(chosen(variables, "/opt/muster/bin/muster", files).path == "/venv/bin/python");
  variables.erase("VIRTUAL_ENV");
  CHECK(chosen(variables, "muster", files).path == "/conda/bin/python");
  variables.erase("CONDA_PREFIX");
  CHECK(chosen(variables, "muster", files).path == "/usr/bin/python3");
  FakeFileSystem old;
  old.program("/usr/bin/python");
  CHECK(chosen(variables, "muster", old).path == "/usr/bin/python");
}

TEST_CASE("python beside us counts only in a virtual environment or conda", "[environment]") {
  FakeFileSystem files;
  files.program("/usr/bin/muster").program("/usr/bin/python").program("/venv/bin/python");
  Map const variables{{"VIRTUAL_ENV", "/venv"}, {"PATH", "/usr/bin"}};
  CHECK(chosen(variables, "/usr/bin/muster", files).path == "/venv/bin/python");
  files.file("/usr/conda-meta/history");
  CHECK(chosen(variables, "/usr/bin/muster", files).path == "/usr/bin/python");
  CHECK(chosen(variables, "muster", files).path == "/usr/bin/python");  // found through PATH
}

TEST_CASE("a PYTHON_EXEC that is not there is an error, not a guess", "[environment]") {
  auto const python = choose_interpreter(
      EnvView(Map{{"PYTHON_EXEC", "/gone/python"}, {"PATH", "/usr/bin"}}), "muster", everything());
  REQUIRE_FALSE(python);
  CHECK(python.error().code == Errc::not_found);
  CHECK(python.error().what.find("/gone/python") != std::string::npos);
}

TEST_CASE("no Python at all says where it was looked for", "[environment]") {
  auto const python =
      choose_interpreter(EnvView(Map{{"PATH", "/bin"}}), "muster", FakeFileSystem());
  REQUIRE_FALSE(python);
  CHECK(python.error().hint.find("--no-python") != std::string::npos);
}

TEST_CASE("the version is read from files, never asked of Python", "[environment]") {
  FakeFileSystem files;
  Map const variables{{"VIRTUAL_ENV", "/venv"}, {"PATH", "/usr/bin"}};
  files.program("/venv/bin/python").file("/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.4\n");
  CHECK(chosen(variables, "muster", files).version == "3.12.4");
  files.file("/venv/pyvenv.cfg", "home = /x\nversion_info = 3.13.1.final.0\n");
  CHECK(chosen(variables, "muster", files).version == "3.13.1");
  files.file("/venv/pyvenv.cfg", "nonsense");
  CHECK(chosen(variables, "muster", files).version.empty());
  CHECK(chosen({{"PATH", "/usr/bin"}}, "muster", everything()).version == "3.11");
}

TEST_CASE("a pyenv shim's version is read where the shim reads it", "[environment]") {
  FakeFileSystem files;
  files.program("/users/a/.pyenv/shims/python3").file("/users/a/.pyenv/version", "3.11.7\n");
  Map variables{{"PATH", "/users/a/.pyenv/shims"}};
  CHECK(chosen(variables, "muster", files).version == "3.11.7");
  files.file(".python-version", "3.12.1\n3.11.7\n");
  CHECK(chosen(variables, "muster", files).version == "3.12.1");
  variables["PYENV_VERSION"] = "3.13.0:3.12.1";
  CHECK(chosen(variables, "muster", files).version == "3.13.0");
}

TEST_CASE("a folder of the environment without Python in it is passed over", "[environment]") {
  FakeFileSystem files;
  files.file("/venv/bin/activate").program("/usr/bin/python3");
  CHECK(chosen({{"VIRTUAL_ENV", "/venv"}, {"PATH", "/usr/bin"}}, "muster", files).path ==
        "/usr/bin/python3");
}

}  // namespace muster::launch
