// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/file_system.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::launch {
namespace {

constexpr std::size_t kMaxReadBytes =
    1u << 20;  // error files with long tracebacks; the rest is far smaller

}  // namespace

FileKind RealFileSystem::kind(std::string const& path) const {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return FileKind::missing;
  if (S_ISREG(status.st_mode)) return FileKind::file;
  return S_ISDIR(status.st_mode) ? FileKind::folder : FileKind::other;
}

bool RealFileSystem::can_read(std::string const& path) const {
  return ::access(path.c_str(), R_OK) == 0;
}

bool RealFileSystem::can_execute(std::string const& path) const {
  return kind(path) == FileKind::file && ::access(path.c_str(), X_OK) == 0;
}

std::string RealFileSystem::resolve(std::string const& path) const {
  std::unique_ptr<char, decltype(&std::free)> const real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

std::optional<std::string> RealFileSystem::read(std::string const& path) const {
  // Plain descriptors: a stream costs more than the file, and NONBLOCK keeps a FIFO from holding
  // us.
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while (text.size() < kMaxReadBytes && (got = ::read(fd, chunk.data(), chunk.size())) > 0)
    text.append(chunk.data(), static_cast<std::size_t>(got));
  ::close(fd);
  if (got < 0) return std::nullopt;
  return text;
}

std::vector<std::string> RealFileSystem::list(std::string const& folder) const {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> const open(::opendir(folder.c_str()), &::closedir);
  if (!open) return names;
  while (auto const* entry = ::readdir(open.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string join_path(std::string const& folder, std::string const& name) {
  if (folder.empty()) return name;
  return folder.back() == '/' ? folder + name : folder + "/" + name;
}

std::optional<std::string> find_executable(FileSystem const& files, std::string const& path,
                                           std::string const& name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    if (files.can_execute(name)) return name;
    return std::nullopt;
  }
  for (std::size_t begin = 0; begin <= path.size();) {
    auto const end = std::min(path.find(':', begin), path.size());
    auto const folder = path.substr(begin, end - begin);
    auto const candidate = join_path(folder.empty() ? "." : folder, name);
    if (files.can_execute(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace muster::launch
