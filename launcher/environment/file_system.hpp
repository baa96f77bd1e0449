// SPDX-License-Identifier: Apache-2.0
#pragma once
// The few questions that decisions ask of the file system, as an interface: the real one at the
// edge, a made-up one in tests. Files of /proc and /sys included.

#include <optional>
#include <string>
#include <vector>

namespace muster::launch {

enum class FileKind { missing, file, folder, other };

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual FileKind kind(std::string const& path) const = 0;  // links followed
  virtual bool can_read(std::string const& path) const = 0;
  virtual bool can_execute(std::string const& path) const = 0;
  virtual std::string resolve(std::string const& path) const = 0;  // real path, or `path` itself
  virtual std::optional<std::string> read(std::string const& path) const = 0;  // 1 MiB at most
  virtual std::vector<std::string> list(std::string const& folder) const = 0;  // names, sorted
};

class RealFileSystem final : public FileSystem {
 public:
  FileKind kind(std::string const& path) const override;
  bool can_read(std::string const& path) const override;
  bool can_execute(std::string const& path) const override;
  std::string resolve(std::string const& path) const override;
  std::optional<std::string> read(std::string const& path) const override;
  std::vector<std::string> list(std::string const& folder) const override;
};

// `folder`/`name`, as a path of either.
std::string join_path(std::string const& folder, std::string const& name);

// The first executable file `name` in the folders of `path` (as in PATH), or nothing. A name with a
// slash is looked up as it is.
std::optional<std::string> find_executable(FileSystem const& files, std::string const& path,
                                           std::string const& name);

}  // namespace muster::launch
