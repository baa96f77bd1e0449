// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder that holds checkpoints, and the steps that make one appear whole or not at all: a new
// one is written aside as step-NNNNNNNN.tmp-NONCE, synced (files and folder), then renamed, which
// commits it. Only what carries that name form is ever removed. A shell; one writer at a time.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::worker {

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr char kTrainerName[] = "trainer.json";

struct Written {
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;
};

struct StoredStep {
  std::uint64_t step = 0;
  std::string path;
};

std::string step_name(std::uint64_t step);  // "step-00000563"

// Complete checkpoints under `root`, newest first. None if the folder does not exist.
Result<std::vector<StoredStep>> list_steps(std::string const& root);

// Makes `root` where it is missing, removes what interrupted saves left, and makes the empty folder
// for a new checkpoint. Returns its path.
Result<std::string> begin_step(std::string const& root, std::uint64_t step, std::uint64_t nonce);
// Creates a file and syncs its bytes to the disk.
Result<Written> write_synced(std::string const& path, std::span<std::string_view const> pieces);
// Makes `aside` the checkpoint of its step, replacing one of the same step. Returns the new path.
Result<std::string> publish_step(std::string const& root, std::string const& aside,
                                 std::uint64_t step);
// Removes what begin_step() made; errors are not reported, the next save cleans up.
void discard_step(std::string const& aside);
// Keeps the newest `keep` and removes the others, each in one go as seen from outside.
Result<void> keep_newest(std::string const& root, std::size_t keep);
// Takes a checkpoint out of the list without deleting it: renames it to NAME.bad.
Result<void> set_aside(std::string const& path);

Result<std::string> read_file(std::string const& path, std::uint64_t limit_bytes);

}  // namespace muster::worker
