// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the folders and files of layout.hpp. Shell: touches the disk.

#include "launcher/cli/options.hpp"
#include "launcher/logs/layout.hpp"
#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <string>

namespace muster::launch {

// "<log dir>/<run id>_<8 characters>", made new; without --log-dir below a fresh
// "torchelastic_XXXXXX" in TMPDIR, TEMP, TMP, /tmp and so on: the first that can be written. Empty
// with --log-dir=/dev/null. Errors name the folder.
Result<std::string> make_run_folder(RunOptions const& options, EnvView const& env);

// Makes a folder whose parent exists; one that is there already is fine.
Result<void> make_folder(std::string const& path);

// Creates a log file for appending.
Result<UniqueFd> open_log(std::string const& path);

}  // namespace muster::launch
