// SPDX-License-Identifier: Apache-2.0
// The part of mnist_ddp's training that computes: steps, epochs and the score at the end.
#include "worker_runtime/data/same_order.hpp"
#include "worker_runtime/examples/mnist_trainer.hpp"
#include "worker_runtime/nn/functions.hpp"
#include "worker_runtime/optim/schedule.hpp"

#include <algorithm>

namespace muster::worker {
namespace {

constexpr std::uint64_t kReferenceBatch = 64;  // the learning rate is meant for
constexpr std::uint64_t kAskEverySteps = 8;    // whether to stop: an all-reduce

}  // namespace

Result<std::optional<double>> Trainer::train_epoch(Progress& progress) {
  MUSTER_CHECK(check_same_order(session_.world(), lanes_[0]->state()));
  for (;;) {
    if (at_.step % kAskEverySteps == 0) {
      MUSTER_TRY(auto const asked, session_.stop_requested());
      if (asked) return std::optional<double>{};
    }
    auto const samples_before = at_.samples;
    MUSTER_TRY(auto const mean_loss, step());
    if (!mean_loss) break;
    progress.step(static_cast<std::int64_t>(at_.samples - samples_before), *mean_loss);
  }
  MUSTER_TRY(auto const sums, sum_over_ranks(loss_sum_, loss_rows_));
  loss_sum_ = loss_rows_ = 0;
  ++at_.epoch;
  return std::optional<double>(sums.first / sums.second);
}

// One step of all ranks: this rank's mean loss of the epoch so far, or nothing at the epoch's end.
Result<std::optional<double>> Trainer::step() {
  double loss = 0, rows = 0;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    MUSTER_TRY(auto const batch, lanes_[lane]->next());
    if (!batch) {  // on all lanes and ranks alike: the sampler pads, or says when all are done
      if (lane + 1 < lanes_.size()) continue;
      return std::optional<double>{};
    }
    auto const count = static_cast<double>(batch->rows.size());
    parallel_->begin({.sync = lane + 1 == lanes_.size(), .local_weight = count, .step = at_.step});
    if (row_log_) MUSTER_CHECK(row_log_->note(at_.epoch, at_.step, batch->rows));
    if (batch->rows.empty()) continue;  // others have this short step; the gradient here is zero
    Tape tape({.seed = options_.seed, .step = at_.step, .rows = batch->rows}, *parallel_);
    auto const logits = net_(tape, tape.input(batch->inputs));
    MUSTER_TRY(auto const sum, tape.backward(softmax_cross_entropy(tape, logits, batch->targets)));
    loss += sum;
    rows += count;
  }
  MUSTER_CHECK(parallel_->finish());
  auto const batch = static_cast<std::uint64_t>(global_batch());
  MUSTER_CHECK(adam_.step(*parallel_, lr_for_batch(options_.lr, batch, kReferenceBatch)));
  ++at_.step;
  auto const seen = lanes_[0]->state().consumed;
  at_.samples =
      at_.epoch * static_cast<std::uint64_t>(train_.size()) + static_cast<std::uint64_t>(seen);
  loss_sum_ += loss;
  loss_rows_ += rows;
  return std::optional<double>(loss_sum_ / loss_rows_);
}

Result<double> Trainer::evaluate() {
  MUSTER_TRY(auto sampler, DistributedSampler::make({test_.size(), session_.size(), session_.rank(),
                                                     0, false, Tail::exact}));
  double right = 0, count = 0;
  for (auto draw = sampler.next(options_.batch); !draw.rows.empty();
       draw = sampler.next(options_.batch)) {
    auto const batch = batch_of(test_, draw.rows);
    Tape tape({.training = false, .record = false}, *parallel_);
    auto const scores = tape.value(net_(tape, tape.input(batch.inputs)));
    MUSTER_CHECK(tape.status());
    auto const all = scores.as<float>();
    for (std::size_t i = 0; i < draw.rows.size(); ++i, ++count) {
      auto const row = all.subspan(i * kClasses, kClasses);
      auto const best = std::max_element(row.begin(), row.end()) - row.begin();
      if (best == batch.targets.as<std::int64_t>()[i]) ++right;
    }
  }
  MUSTER_TRY(auto const sums, sum_over_ranks(right, count));
  return 100.0 * sums.first / sums.second;
}

}  // namespace muster::worker
