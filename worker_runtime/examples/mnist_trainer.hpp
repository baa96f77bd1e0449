// SPDX-License-Identifier: Apache-2.0
#pragma once
// The training of mnist_ddp: model, data, optimizer and checkpoints of one rank; or, simulated, of
// all ranks of a world in one process. The loop is the same for both: a real rank has one lane of
// batches, a simulated world has one for each of its ranks. One thread, but for the loaders.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/checkpoint/train_state.hpp"
#include "worker_runtime/comm/session.hpp"
#include "worker_runtime/core/parallel.hpp"
#include "worker_runtime/data/digits.hpp"
#include "worker_runtime/data/loader.hpp"
#include "worker_runtime/examples/mnist_options.hpp"
#include "worker_runtime/examples/progress.hpp"
#include "worker_runtime/examples/row_log.hpp"
#include "worker_runtime/nn/sequential.hpp"
#include "worker_runtime/optim/adam.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::worker {

enum class End { trained, stopped_saved, stopped_unsaved };

class Trainer {
 public:
  // The session outlives the trainer. Collective, as is all that follows but epoch() and digest().
  static Result<std::unique_ptr<Trainer>> make(Session& session, MnistOptions const& options);

  // Takes up the newest checkpoint, if there is one, and starts the loaders.
  Result<Progress> resume();
  std::int64_t epoch() const { return static_cast<std::int64_t>(at_.epoch); }  // epochs done
  // The epoch's mean loss over all ranks; nothing if the ranks were asked to stop on the way.
  Result<std::optional<double>> train_epoch(Progress& progress);
  Result<void> save();
  Result<End> stop(Progress& progress);
  Result<double> evaluate();  // percent of the test digits, each counted once
  std::string digest();       // of the parameters

 private:
  static constexpr std::int64_t kClasses = 10;

  Trainer(Session& session, MnistOptions const& options) : session_(session), options_(options) {}
  Result<void> prepare();
  Result<std::optional<double>> step();
  Result<TrainState> state();
  // Of both over all ranks, the same bits on each.
  Result<std::pair<double, double>> sum_over_ranks(double a, double b);
  int world() const {
    return options_.simulate_world > 0 ? options_.simulate_world : session_.size();
  }
  std::int64_t global_batch() const {
    return options_.global_batch > 0 ? options_.global_batch : options_.batch * world();
  }

  Session& session_;
  MnistOptions const options_;
  Digits train_, test_;
  Sequential net_;
  Adam adam_;
  std::unique_ptr<Parallel> parallel_;
  std::vector<DistributedSampler> samplers_;
  std::vector<std::unique_ptr<Loader>> lanes_;
  std::optional<RowLog> row_log_;
  TrainerState at_;
  double loss_sum_ = 0, loss_rows_ = 0;  // of this epoch so far, on this rank
};

}  // namespace muster::worker
