// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/entry_check.hpp"

namespace muster::launch {
namespace {

constexpr int kMissing = 127;
constexpr int kCannotRun = 126;

EntryProblem missing(std::string what, std::string hint) {
  return {Error{Errc::not_found, std::move(what), std::move(hint)}, kMissing};
}

EntryProblem cannot_run(std::string what, std::string hint) {
  return {Error{Errc::permission, std::move(what), std::move(hint)}, kCannotRun};
}

std::optional<EntryProblem> check_script(std::string const& script, FileSystem const& files) {
  switch (files.kind(script)) {
    case FileKind::missing:
      return missing("the script '" + script + "' does not exist",
                     "check the path; it is relative to the current folder. A module needs -m, "
                     "another program --no-python");
    case FileKind::folder:
      if (files.kind(join_path(script, "__main__.py")) == FileKind::file) break;
      return cannot_run("'" + script + "' is a folder without __main__.py",
                        "name the script in it");
    case FileKind::file:
    case FileKind::other:
      break;
  }
  if (!files.can_read(script))
    return cannot_run("no permission to read the script '" + script + "'",
                      "chmod +r it, or run as its owner");
  return std::nullopt;
}

std::optional<EntryProblem> check_command(std::string const& command, std::string const& path,
                                          FileSystem const& files) {
  if (find_executable(files, path, command)) return std::nullopt;
  bool const has_slash = command.find('/') != std::string::npos;
  auto const kind = files.kind(command);
  if (kind == FileKind::missing)
    return missing(
        "the command '" + command + "' " + (has_slash ? "does not exist" : "is not in PATH"),
        has_slash ? "check the path; it is relative to the current folder"
                  : "write its path, or install it");
  if (kind == FileKind::folder && has_slash)
    return cannot_run("'" + command + "' is a folder", "name the program in it");
  if (!has_slash)
    return missing("the command '" + command + "' is not in PATH, but a file of that name is here",
                   files.can_execute(command) ? "write ./" + command
                                              : "leave out --no-python if it is a Python script");
  return cannot_run("'" + command + "' is not executable",
                    "chmod +x it, or leave out --no-python if it is a Python script");
}

}  // namespace

std::optional<EntryProblem> check_entry(RunOptions const& options, EnvView const& env,
                                        FileSystem const& files) {
  switch (options.entry) {
    case EntryKind::module:
      return std::nullopt;  // only Python can find it
    case EntryKind::no_python:
      return check_command(options.program,
                           std::string(env.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin")),
                           files);
    case EntryKind::script:
    case EntryKind::run_path:
      // "-" is Python's own word for stdin; with a macro the path differs per rank.
      if (options.program == "-" || options.program.find('$') != std::string::npos)
        return std::nullopt;
      return check_script(options.program, files);
  }
  return std::nullopt;
}

}  // namespace muster::launch
