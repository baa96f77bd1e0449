// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fresh folder under the system's place for temporary files, removed at the end of a test.

#include <cstdlib>
#include <filesystem>
#include <string>

namespace muster::test {

class TempFolder {
 public:
  TempFolder() {
    auto name = (std::filesystem::temp_directory_path() / "muster_test_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(TempFolder const&) = delete;
  TempFolder& operator=(TempFolder const&) = delete;

  std::string path() const { return path_.string(); }
  std::filesystem::path operator/(std::string const& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace muster::test
