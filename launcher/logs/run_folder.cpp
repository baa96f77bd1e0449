// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/run_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace muster::launch {
namespace {

// As Python's tempfile: eight of these.
std::string random_suffix() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  unsigned char bytes[8] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    bytes[0] = static_cast<unsigned char>(::getpid() & 0xff);
  std::string suffix;
  for (auto const byte : bytes) suffix += kLetters[byte % kLetters.size()];
  return suffix;
}

Result<std::string> make_unique_folder(std::string const& stem, mode_t mode) {
  for (int tries = 0;; ++tries) {
    auto path = stem + random_suffix();
    if (::mkdir(path.c_str(), mode) == 0) return path;
    if (errno != EEXIST || tries == 100) return from_errno(errno, "making folder '" + path + "'");
  }
}

std::string absolute(std::string const& path) {
  if (path.starts_with('/')) return path;
  std::unique_ptr<char, void (*)(void*)> const folder(::getcwd(nullptr, 0), std::free);
  return folder ? std::string(folder.get()) + "/" + path : path;
}

// As Python's tempfile, hence torchrun: the first place that takes a folder. A variable that is set
// but empty is none.
Result<std::string> make_temporary_folder(EnvView const& env) {
  std::vector<std::string> places;
  for (auto const* name : {"TMPDIR", "TEMP", "TMP"})
    if (auto const place = env.get(name).value_or(""); !place.empty()) places.emplace_back(place);
  for (auto const* place : {"/tmp", "/var/tmp", "/usr/tmp", "."}) places.emplace_back(place);
  std::optional<Error> first;
  for (auto const& place : places) {
    auto made = make_unique_folder(absolute(place) + "/torchelastic_", 0700);
    if (made) return made;
    if (!first) first = std::move(made).error();
  }
  return *std::move(first);
}

// As mkdir -p.
Result<void> make_folders(std::string const& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    MUSTER_CHECK(make_folder(path.substr(0, end)));
  return make_folder(path);
}

Error explained(Error error) {
  if (error.hint.empty()) error.hint = "choose a folder that can be written with --log-dir";
  return error;
}

}  // namespace

Result<void> make_folder(std::string const& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return ok();
  int const number = errno;
  struct stat found {};
  if (number == EEXIST && ::stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) return ok();
    return Error{Errc::bad_input, "log folder '" + path + "' is a file",
                 "give --log-dir the name of a folder"};
  }
  // A parent on a read-only file system may well exist.
  if (::access(path.c_str(), F_OK) == 0) return ok();
  return explained(from_errno(number, "making folder '" + path + "'"));
}

Result<std::string> make_run_folder(RunOptions const& options, EnvView const& env) {
  if (options.log_files_off) return std::string();
  std::string base;
  if (options.log_dir) {
    base = absolute(*options.log_dir);  // a worker may change its folder
    MUSTER_CHECK(make_folders(base));
  } else {
    auto made = make_temporary_folder(env);
    if (!made) return explained(std::move(made).error());
    base = *std::move(made);
  }
  auto made = make_unique_folder(base + "/" + run_folder_name(options.run_id, ""), 0700);
  if (!made) return explained(std::move(made).error());
  return made;
}

Result<UniqueFd> open_log(std::string const& path) {
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)};
  if (!file) return explained(from_errno(errno, "opening log file '" + path + "'"));
  return file;
}

}  // namespace muster::launch
