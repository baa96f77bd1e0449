// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/interpreter.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace muster::launch {
namespace {

std::string path_of(EnvView const& env) {
  return std::string(env.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
}

std::string folder_of(std::string const& path) {
  auto const slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_environment(FileSystem const& files, std::string const& root) {
  return files.kind(join_path(root, "pyvenv.cfg")) == FileKind::file ||
         files.kind(join_path(root, "conda-meta")) == FileKind::folder;
}

std::optional<std::string> python_in(FileSystem const& files, std::string const& folder) {
  for (auto const* name : {"python", "python3"}) {
    auto candidate = join_path(folder, name);
    if (files.can_execute(candidate)) return candidate;
  }
  return std::nullopt;
}

// The folder that our own name lies in. Links are not followed: torchrun in a venv may be a link to
// muster elsewhere, and the venv is what the user meant.
std::optional<std::string> own_folder(EnvView const& env, std::string const& called_as,
                                      FileSystem const& files) {
  if (called_as.find('/') != std::string::npos) return folder_of(called_as);
  if (auto const found = find_executable(files, path_of(env), called_as)) return folder_of(*found);
  return std::nullopt;
}

// "key = value" of a pyvenv.cfg.
std::string config_value(std::string_view text, std::string_view wanted) {
  while (!text.empty()) {
    auto const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    auto const equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    auto const trim = [](std::string_view word) {
      auto const first = word.find_first_not_of(" \t\r");
      if (first == std::string_view::npos) return std::string_view{};
      return word.substr(first, word.find_last_not_of(" \t\r") - first + 1);
    };
    if (trim(line.substr(0, equals)) == wanted) return std::string(trim(line.substr(equals + 1)));
  }
  return {};
}

// "3.11.2" of "3.11.2.final.0".
std::string first_three_parts(std::string const& version) {
  std::size_t end = 0;
  for (int part = 0; part < 3 && end != std::string::npos; ++part)
    end = version.find('.', end + (part > 0 ? 1 : 0));
  return version.substr(0, end);
}

// "3.11" of /usr/bin/python3.11, or "".
std::string version_in_name(std::string const& path) {
  auto const name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kPrefix = "python";
  if (name.compare(0, kPrefix.size(), kPrefix) != 0) return {};
  auto const version = name.substr(kPrefix.size());
  bool const numeric = version.find_first_not_of("0123456789.") == std::string::npos;
  return numeric && version.find('.') != std::string::npos ? version : std::string();
}

// What a pyenv shim will run: it looks at these places itself, in this order (and in the folders
// above the current one, which are left out here).
std::string version_of_shim(EnvView const& env, FileSystem const& files, std::string const& root) {
  auto const first_word = [](std::string_view text) {
    return std::string(text.substr(0, text.find_first_of(" :\r\n")));
  };
  if (auto const given = env.get("PYENV_VERSION"); given && !given->empty())
    return first_word(*given);
  for (auto const& file : {std::string(".python-version"), join_path(root, "version")})
    if (auto const text = files.read(file)) return first_word(*text);
  return {};
}

std::string version_of(EnvView const& env, FileSystem const& files, std::string const& python) {
  if (auto const shims = python.rfind("/shims/"); shims != std::string::npos)
    return version_of_shim(env, files, python.substr(0, shims));
  auto const config = join_path(folder_of(folder_of(python)), "pyvenv.cfg");
  if (auto const text = files.read(config)) {
    for (auto const* key : {"version", "version_info"})
      if (auto const version = config_value(*text, key); !version.empty())
        return first_three_parts(version);
  }
  return version_in_name(files.resolve(python));
}

}  // namespace

Result<Interpreter> choose_interpreter(EnvView const& env, std::string const& called_as,
                                       FileSystem const& files) {
  auto const chosen = [&](std::string path, std::string reason) {
    auto version = version_of(env, files, path);
    return Interpreter{std::move(path), std::move(reason), std::move(version)};
  };
  if (auto const given = env.get("PYTHON_EXEC"); given && !given->empty()) {
    if (auto found = find_executable(files, path_of(env), std::string(*given)))
      return chosen(*std::move(found), "PYTHON_EXEC");
    return Error{Errc::not_found, "PYTHON_EXEC='" + std::string(*given) + "' is no executable file",
                 "correct the variable, or unset it"};
  }
  if (auto const folder = own_folder(env, called_as, files);
      folder && is_environment(files, folder_of(*folder))) {
    if (auto found = python_in(files, *folder))
      return chosen(*std::move(found), "beside " + called_as.substr(called_as.rfind('/') + 1));
  }
  for (auto const* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    auto const root = env.get(variable);
    if (!root || root->empty()) continue;
    if (auto found = python_in(files, join_path(std::string(*root), "bin")))
      return chosen(*std::move(found), variable);
  }
  for (auto const* name : {"python3", "python"})
    if (auto found = find_executable(files, path_of(env), name))
      return chosen(*std::move(found), std::string(name) + " in PATH");
  return Error{
      Errc::not_found,
      "no Python found: PYTHON_EXEC, VIRTUAL_ENV and CONDA_PREFIX name none, and PATH holds "
      "neither python3 nor python",
      "activate an environment, set PYTHON_EXEC, or start another program with --no-python"};
}

}  // namespace muster::launch
