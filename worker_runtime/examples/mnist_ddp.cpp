// SPDX-License-Identifier: Apache-2.0
// mnist_ddp: data parallel training of an MLP on handwritten digits, with checkpoints. Runs under
// any launcher that sets torchrun's variables, or alone as a world of one. See --help.
#include "rendezvous/base/env_contract.hpp"
#include "worker_runtime/comm/session.hpp"
#include "worker_runtime/cpu/compute_threads.hpp"
#include "worker_runtime/examples/mnist_options.hpp"
#include "worker_runtime/examples/mnist_trainer.hpp"

#include <cstdio>

namespace muster::worker {
namespace {

// Rank 0's words at the end. The accuracy is the last line.
void report(MnistOptions const& options, Trainer& trainer, Progress& progress, double accuracy) {
  if (options.digest) progress.say("parameters fnv %s", trainer.digest().c_str());
  progress.say("test accuracy %.2f %%", accuracy);
}

Result<End> run(MnistOptions const& options, EnvView const& environment) {
  MUSTER_TRY(auto session, Session::open(environment));
  cpu::set_compute_threads(session.cpus());
  MUSTER_TRY(auto const trainer, Trainer::make(session, options));
  MUSTER_TRY(auto progress, trainer->resume());
  for (auto epoch = trainer->epoch(); epoch < options.epochs; epoch = trainer->epoch()) {
    progress.begin_epoch(epoch + 1);
    MUSTER_TRY(auto const mean_loss, trainer->train_epoch(progress));
    if (!mean_loss) return trainer->stop(progress);
    MUSTER_CHECK(trainer->save());  // before the line: what is printed as done is kept
    progress.end_epoch(*mean_loss);
  }
  MUSTER_TRY(auto const accuracy, trainer->evaluate());
  report(options, *trainer, progress, accuracy);
  return End::trained;
}

int exit_status(End end) {
  switch (end) {
    case End::trained:
      return 0;
    case End::stopped_saved:
      return env::kExitPreemptedSaved;
    case End::stopped_unsaved:
      return env::kExitPreemptedUnsaved;
  }
  return 1;
}

int main_of(int argc, char** argv) {
  auto const environment = EnvView::from_process();
  auto const arguments = std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0);
  auto const options = parse_mnist_options(arguments, environment);
  if (!options) {
    std::fprintf(stderr, "mnist_ddp: %s\n", to_string(options.error()).c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(kMnistUsage, stdout);
    return 0;
  }
  auto end = End::trained;
  auto const status = run_main([&]() -> Result<void> {
    MUSTER_TRY(end, run(*options, environment));
    return ok();
  });
  return status == 0 ? exit_status(end) : status;
}

}  // namespace
}  // namespace muster::worker

int main(int argc, char** argv) {
  return muster::worker::main_of(argc, argv);
}
