// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which samples each step took, as text: so that whoever scaled a job up and down can see that none
// was taken twice or left out. A file for each round and rank, a line for each step: epoch, step,
// samples. One thread.

#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace muster::worker {

class RowLog {
 public:
  // Makes the folder where it is missing. What a file of that name holds already stays.
  static Result<RowLog> open(std::string const& folder, std::uint64_t round, int rank);

  // Flushed: a process that is killed later takes nothing along.
  Result<void> note(std::uint64_t epoch, std::uint64_t step, std::span<std::int64_t const> rows);

 private:
  RowLog(std::string path, std::ofstream file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::ofstream file_;
};

}  // namespace muster::worker
