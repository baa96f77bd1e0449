// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/examples/mnist_trainer.hpp"

#include "worker_runtime/checkpoint/load.hpp"
#include "worker_runtime/checkpoint/save.hpp"
#include "worker_runtime/core/fingerprint.hpp"
#include "worker_runtime/ddp/model_check.hpp"
#include "worker_runtime/ddp/parallelize.hpp"
#include "worker_runtime/ddp/simulated_world.hpp"
#include "worker_runtime/examples/find_data.hpp"
#include "worker_runtime/nn/activations.hpp"
#include "worker_runtime/nn/linear.hpp"

#include <utility>

namespace muster::worker {
namespace {

constexpr std::int64_t kHidden = 256;

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::make(Session& session, MnistOptions const& options) {
  auto made = std::unique_ptr<Trainer>(new Trainer(session, options));
  MUSTER_CHECK(made->prepare());
  return made;
}

Result<void> Trainer::prepare() {
  if (options_.simulate_world > 0 && session_.size() > 1)
    return Error{Errc::bad_input, "--simulate-world in a world of several ranks",
                 "start it as one process"};
  if (!options_.rows_to.empty()) {
    MUSTER_TRY(row_log_, RowLog::open(options_.rows_to, session_.round(), session_.rank()));
  }
  MUSTER_TRY(auto const folder, find_digits(options_.data));
  MUSTER_TRY(train_, load_digits(folder, Split::train));
  MUSTER_TRY(test_, load_digits(folder, Split::test));
  net_.add<Linear>(train_.pixels(), kHidden);
  net_.add<ReLU>();
  net_.add<Linear>(kHidden, kClasses);
  if (options_.simulate_world > 0) {
    materialize(net_, options_.seed);
    parallel_ = simulate_world(net_.parameters(), world());
  } else {
    MUSTER_TRY(parallel_, parallelize(net_, session_.world(), {.seed = options_.seed}));
  }
  for (int rank = 0; rank < world(); ++rank) {
    if (options_.simulate_world == 0 && rank != session_.rank()) continue;
    MUSTER_TRY(auto sampler,
               DistributedSampler::make({train_.size(), world(), rank, options_.seed}));
    samplers_.push_back(std::move(sampler));
  }
  return ok();
}

Result<Progress> Trainer::resume() {
  auto const total = train_.size() * options_.epochs;
  at_.seed = options_.seed;
  Loaded loaded;
  if (!options_.checkpoint.empty()) {
    MUSTER_TRY(auto state, this->state());
    MUSTER_TRY(loaded, load_latest(session_.world(), state, options_.checkpoint));
    at_ = state.trainer;
  }
  if (loaded.found) {
    adam_.set_steps(at_.step);
    for (auto& sampler : samplers_)
      MUSTER_CHECK(sampler.resume(at_.sampler.value_or(SamplerState{})));
    if (session_.rank() == 0) {  // what all ranks had together
      loss_sum_ = at_.schedule["loss_sum"];
      loss_rows_ = at_.schedule["loss_rows"];
    }
  }
  auto const together = options_.global_batch > 0;
  for (auto const& sampler : samplers_)
    lanes_.push_back(std::make_unique<Loader>(
        sampler, [this](std::span<std::int64_t const> rows) { return batch_of(train_, rows); },
        LoaderOptions{.batch = together ? options_.global_batch : options_.batch,
                      .together = together}));
  Progress progress(session_.rank() != 0, options_.epochs, total,
                    static_cast<std::int64_t>(at_.samples));
  if (loaded.found)
    progress.say(
        "resumed from epoch %llu, step %llu%s", static_cast<unsigned long long>(at_.epoch),
        static_cast<unsigned long long>(at_.step),
        loaded.saved_world == session_.size()
            ? ""
            : "; saved by another number of ranks: equal within tolerance, not bit for bit");
  return progress;
}

Result<TrainState> Trainer::state() {
  TrainState state;
  auto const params = net_.parameters();
  state.model = named_values(params);
  MUSTER_TRY(auto const moments, adam_.state(*parallel_));
  state.optimizer = named_states(moments);
  state.trainer = at_;
  return state;
}

Result<void> Trainer::save() {
  if (options_.checkpoint.empty()) return ok();
  MUSTER_CHECK(check_same_values(session_.world(), net_.parameters()));
  at_.sampler = lanes_[0]->state();
  at_.round = session_.round();
  MUSTER_TRY(auto const sums, sum_over_ranks(loss_sum_, loss_rows_));
  at_.schedule = {{"lr", options_.lr}, {"loss_sum", sums.first}, {"loss_rows", sums.second}};
  MUSTER_TRY(auto const state, this->state());
  MUSTER_TRY(auto const saved, worker::save(session_.world(), state, options_.checkpoint,
                                            {.keep = static_cast<std::size_t>(options_.keep)}));
  (void)saved;
  return ok();
}

Result<End> Trainer::stop(Progress& progress) {
  auto const step = static_cast<unsigned long long>(at_.step);
  if (options_.checkpoint.empty()) {
    progress.say("asked to stop: at step %llu, nothing saved (no --checkpoint)", step);
    return End::stopped_unsaved;
  }
  MUSTER_CHECK(save());
  progress.say("asked to stop: saved at step %llu", step);
  return End::stopped_saved;
}

Result<std::pair<double, double>> Trainer::sum_over_ranks(double a, double b) {
  double const mine[] = {a, b};
  auto const both = Tensor::of<double>(Shape{2}, std::span<double const>(mine));
  MUSTER_CHECK(all_reduce(session_.world(), both, {.site = "loss or score"}).wait());
  return std::pair(both.as<double>()[0], both.as<double>()[1]);
}

std::string Trainer::digest() {
  Fingerprint print;
  for (auto const* param : net_.parameters()) print.add(param->value());
  return print.hex();
}

}  // namespace muster::worker
