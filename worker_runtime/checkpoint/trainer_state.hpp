// SPDX-License-Identifier: Apache-2.0
#pragma once
// trainer.json: where a training stood. Step for step the same training needs all of it: counters,
// the seed (every draw is keyed by it, so no generator is saved), the sampler's place, the numbers
// of the schedule. Doubles keep their bits. Pure: text in, text out.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/data/sampler.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster::worker {

struct TrainerState {
  std::uint64_t step = 0;     // optimizer steps done
  std::uint64_t epoch = 0;    // epochs done
  std::uint64_t samples = 0;  // samples seen by all ranks together
  std::uint64_t seed = 0;
  std::uint64_t round = 0;  // muster's round, 0 without muster
  std::optional<SamplerState> sampler;
  std::map<std::string, double> schedule;  // "lr", and what else the program's schedule goes by

  friend bool operator==(TrainerState const&, TrainerState const&) = default;
};

// A schedule number that JSON cannot hold (NaN, infinite) is an error.
Result<std::string> to_json(TrainerState const& state);
Result<TrainerState> parse_trainer_state(std::string_view text, std::string const& name);

}  // namespace muster::worker
