// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/examples/find_data.hpp"

#include <filesystem>
#include <system_error>

namespace muster::worker {
namespace {

constexpr char kCarried[] = "tests/data/mnist10k";

}  // namespace

Result<std::string> find_digits(std::string const& given) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // a folder that cannot be looked at is one that is not there
  if (!given.empty()) {
    if (fs::is_directory(given, ignored)) return given;
    return Error{Errc::not_found, "--data " + given + ": no such folder",
                 "name a folder with MNIST's four IDX files"};
  }
  auto const program = fs::read_symlink("/proc/self/exe", ignored);
  // build/<preset>/bin/mnist_ddp
  auto const beside = program.parent_path().parent_path().parent_path().parent_path() / kCarried;
  for (auto const& folder : {beside, fs::path(MUSTER_SOURCE_DIR) / kCarried})
    if (fs::is_directory(folder, ignored)) return folder.string();
  return Error{Errc::not_found,
               "no digits beside this program's source tree (" +
                   (fs::path(MUSTER_SOURCE_DIR) / kCarried).string() + ")",
               "name a folder with MNIST's four IDX files by --data"};
}

}  // namespace muster::worker
