// SPDX-License-Identifier: Apache-2.0
#pragma once
// A FileSystem made up by a test.

#include "launcher/environment/file_system.hpp"

#include <map>
#include <set>

namespace muster::launch {

class FakeFileSystem final : public FileSystem {
 public:
  FakeFileSystem& file(std::string const& path, std::string text = {}) {
    files_[path] = std::move(text);
    for (auto slash = path.rfind('/'); slash != std::string::npos && slash > 0;
         slash = path.rfind('/', slash - 1))
      folders_.insert(path.substr(0, slash));
    return *this;
  }
  FakeFileSystem& program(std::string const& path) {
    executable_.insert(path);
    return file(path);
  }
  FakeFileSystem& link(std::string const& path, std::string const& target) {
    links_[path] = target;
    return program(path);
  }
  FakeFileSystem& unreadable(std::string const& path) {
    unreadable_.insert(path);
    return file(path);
  }

  FileKind kind(std::string const& path) const override {
    if (files_.count(path) != 0) return FileKind::file;
    return folders_.count(path) != 0 ? FileKind::folder : FileKind::missing;
  }
  bool can_read(std::string const& path) const override {
    return kind(path) != FileKind::missing && unreadable_.count(path) == 0;
  }
  bool can_execute(std::string const& path) const override { return executable_.count(path) != 0; }
  std::string resolve(std::string const& path) const override {
    auto const found = links_.find(path);
    return found == links_.end() ? path : found->second;
  }
  std::optional<std::string> read(std::string const& path) const override {
    auto const found = files_.find(path);
    if (found == files_.end() || unreadable_.count(path) != 0) return std::nullopt;
    return found->second;
  }
  std::vector<std::string> list(std::string const& folder) const override {
    std::set<std::string> names;
    auto const prefix = folder + "/";
    for (auto const& [path, text] : files_)
      if (path.compare(0, prefix.size(), prefix) == 0)
        names.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
    return {names.begin(), names.end()};
  }

 private:
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> links_;
  std::set<std::string> folders_, executable_, unreadable_;
};

}  // namespace muster::launch
