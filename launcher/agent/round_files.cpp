// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/round_files.hpp"

#include "launcher/logs/run_folder.hpp"

#include <utility>

namespace muster::launch {

Result<RoundFiles> make_round_files(AgentSetup const& setup,
                                    std::optional<std::string> const& run_folder,
                                    RoundView const& view) {
  RoundFiles files;
  if (run_folder) {
    files.run_folder = *run_folder;
  } else {
    MUSTER_TRY(files.run_folder, make_run_folder(setup.options, setup.env));
  }
  MUSTER_TRY(files.attempt, Attempt::prepare(setup, files.run_folder, view));
  MUSTER_TRY(files.ready, files.attempt.ready(setup));
  return files;
}

Error disk_is_silent(AgentSetup const& setup, Duration patience) {
  auto const& folder = setup.options.log_dir;
  auto const where = folder ? "'" + *folder + "'" : std::string("the folder for temporary files");
  return {
      Errc::timeout,
      "making log folders and files in " + where + " took more than " +
          std::to_string(patience / std::chrono::seconds{1}) + " s",
      "its file system does not answer: give --log-dir another place, or /dev/null for no files"};
}

}  // namespace muster::launch
