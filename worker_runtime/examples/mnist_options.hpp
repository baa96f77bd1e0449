// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of mnist_ddp, as values. Pure.

#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace muster::worker {

struct MnistOptions {
  std::string data;        // folder with the IDX files; empty: the digits that the project carries
  std::string checkpoint;  // folder for checkpoints; empty: none
  std::string rows_to;     // folder for the lists of samples that each step took; empty: none
  std::int64_t epochs = 10;
  std::int64_t batch = 64;        // per rank
  std::int64_t global_batch = 0;  // of all ranks together; 0: `batch` per rank
  std::int64_t keep = 2;          // checkpoints
  double lr = 1e-3;               // for a global batch of 64; scaled linearly
  std::uint64_t seed = 0;
  int simulate_world = 0;  // ranks computed by this one process; 0: the real world
  bool digest = false;     // print the trained parameters' fingerprint
  bool help = false;
};

extern char const kMnistUsage[];

// `arguments` without the program's name. MUSTER_MNIST names the data where --data does not.
Result<MnistOptions> parse_mnist_options(std::span<char* const> arguments,
                                         EnvView const& environment);

}  // namespace muster::worker
