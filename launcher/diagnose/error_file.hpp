// SPDX-License-Identifier: Apache-2.0
#pragma once
// TORCHELASTIC_ERROR_FILE in and out: what a worker wrote about its exception, and what muster
// writes for whoever started it. The formats are torchrun's
// (torch/distributed/elastic/multiprocessing/ errors/error_handler.py). Pure but for
// write_error_file.

#include "launcher/diagnose/failure_report.hpp"
#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::launch {

struct ErrorFile {
  std::string message;      // "ValueError: boom"
  std::string traceback;    // py_callstack; empty in the plain form
  std::int64_t time_s = 0;  // 0: not said
};

// Both forms: {"message": {"message", "extraInfo": {"py_callstack", "timestamp"}}}, and
// {"message": "...", "timestamp": N}. Errors: protocol, saying what is wrong with it.
Result<ErrorFile> parse_error_file(std::string_view text);

// Puts a worker's error file, if it wrote one (`text`), into its record. A malformed file is said
// in the message and is otherwise as good as none.
void take_error_file(FailedWorker& worker, std::string const& path,
                     std::optional<std::string> const& text);

// What our own error file says after a failure: the root failure's file (`text`, where this node
// has it) with errorCode added, else the same made from its record.
std::string error_file_for(FailedWorker const& root, std::optional<std::string> const& text);
// The same for an error of muster itself.
std::string error_file_for(Error const& error, std::int64_t time_s);

// Replaces the file at `path`. Blocks: not for the control thread while leases matter.
Result<void> write_error_file(std::string const& path, std::string const& text);

}  // namespace muster::launch
