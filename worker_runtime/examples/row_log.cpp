// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/examples/row_log.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace muster::worker {
namespace {

Error cannot_write(std::string const& path) {
  return Error{Errc::bad_input, "--rows-to: cannot write " + path,
               "name a folder that can be written to"};
}

}  // namespace

Result<RowLog> RowLog::open(std::string const& folder, std::uint64_t round, int rank) {
  std::error_code failed;  // said by the file that cannot be opened then
  std::filesystem::create_directories(folder, failed);
  auto path = folder + "/round-" + std::to_string(round) + "-rank-" + std::to_string(rank) + ".txt";
  std::ofstream file(path, std::ios::app);
  if (!file) return cannot_write(path);
  return RowLog(std::move(path), std::move(file));
}

Result<void> RowLog::note(std::uint64_t epoch, std::uint64_t step,
                          std::span<std::int64_t const> rows) {
  std::string line = std::to_string(epoch) + ' ' + std::to_string(step);
  for (auto const row : rows) (line += ' ') += std::to_string(row);
  file_ << line << '\n' << std::flush;
  if (!file_) return cannot_write(path_);
  return ok();
}

}  // namespace muster::worker
