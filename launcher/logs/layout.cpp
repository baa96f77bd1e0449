// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/layout.hpp"

namespace muster::launch {

std::string run_folder_name(std::string_view run_id, std::string_view suffix) {
  constexpr std::size_t kLongest = 200;  // file systems allow 255 bytes a name
  std::string name(run_id.substr(0, kLongest));
  for (auto& c : name)
    if (c == '/' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return name + "_" + std::string(suffix);
}

std::string attempt_folder_name(std::uint32_t restart_count, std::uint32_t repeat) {
  auto name = "attempt_" + std::to_string(restart_count);
  if (repeat > 0) name += "." + std::to_string(repeat);
  return name;
}

WorkerPaths worker_paths(std::string const& attempt_folder, int local_rank) {
  auto const folder = attempt_folder + "/" + std::to_string(local_rank);
  return {folder, folder + "/stdout.log", folder + "/stderr.log", folder + "/error.json"};
}

std::string filtered_path(std::string const& attempt_folder, bool is_stderr) {
  return attempt_folder + (is_stderr ? "/filtered_stderr.log" : "/filtered_stdout.log");
}

}  // namespace muster::launch
