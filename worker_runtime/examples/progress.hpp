// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a training is, on rank 0's standard output: a bar on a terminal, a line an epoch
// elsewhere. Every write is flushed. One thread.

#include "rendezvous/base/clock.hpp"

#include <cstdint>

namespace muster::worker {

class Progress {
 public:
  // `quiet`: a rank that prints nothing. `samples`: of the whole training, by all ranks.
  Progress(bool quiet, std::int64_t epochs, std::int64_t samples, std::int64_t samples_done);

  void begin_epoch(std::int64_t epoch);
  // After a step of `samples` by all ranks; `mean_loss` is this rank's in the epoch so far.
  void step(std::int64_t samples, double mean_loss);
  // `mean_loss` over all ranks and the whole epoch.
  void end_epoch(double mean_loss);
  // A line of its own, whatever bar stands there.
  void say(char const* format, ...) __attribute__((format(printf, 2, 3)));

 private:
  void draw_bar(double mean_loss);
  double samples_per_second() const;

  bool quiet_, terminal_;
  std::int64_t epochs_, samples_, done_;
  std::int64_t epoch_ = 0;
  std::int64_t done_before_epoch_ = 0, done_before_run_ = 0;
  TimePoint run_began_, epoch_began_, drawn_;
};

}  // namespace muster::worker
