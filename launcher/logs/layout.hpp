// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of log folders and files, as torchrun lays them out
// (torch/distributed/elastic/multiprocessing/api.py, DefaultLogsSpecs.reify), but nothing is ever
// deleted: a further round with the same restart count gets a folder of its own. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::launch {

// "<run id>_<suffix>", where what cannot stand in a file name became "_".
std::string run_folder_name(std::string_view run_id, std::string_view suffix);

// "attempt_0", and "attempt_0.1" for the first further round with no new restart.
std::string attempt_folder_name(std::uint32_t restart_count, std::uint32_t repeat);

struct WorkerPaths {
  std::string folder, out, err, error_file;
};
WorkerPaths worker_paths(std::string const& attempt_folder, int local_rank);

// "attempt_N/filtered_stdout.log" and "...stderr.log": lines that match a duplicate filter.
std::string filtered_path(std::string const& attempt_folder, bool is_stderr);

}  // namespace muster::launch
