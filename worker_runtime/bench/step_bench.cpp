// SPDX-License-Identifier: Apache-2.0
// One process: milliseconds a training step of the MLP 784-256-10 (and a wider one) at batch 64,
// cut into forward, backward and optimizer. Median of 200 steps after 20 to warm up.
//   step_bench [THREADS]
#include "rendezvous/base/now.hpp"
#include "worker_runtime/core/philox.hpp"
#include "worker_runtime/cpu/compute_threads.hpp"
#include "worker_runtime/nn/activations.hpp"
#include "worker_runtime/nn/functions.hpp"
#include "worker_runtime/nn/linear.hpp"
#include "worker_runtime/nn/sequential.hpp"
#include "worker_runtime/optim/adam.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace muster::worker {
namespace {

constexpr int kWarmup = 20, kSteps = 200;

struct Times {
  std::vector<double> forward, backward, optimizer, step;
};

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + kSteps / 2, values.end());
  return values[kSteps / 2];
}

double ms_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

Result<void> run_step(Sequential& net, Parallel& parallel, Adam& adam, Tensor const& x,
                      Tensor const& labels, Times& times) {
  auto const start = now();
  parallel.begin({.local_weight = 64});
  Tape tape({}, parallel);
  auto const loss = softmax_cross_entropy(tape, net(tape, tape.input(x)), labels);
  auto const forward = now();
  MUSTER_TRY([[maybe_unused]] auto const value, tape.backward(loss));
  MUSTER_CHECK(parallel.finish());
  auto const backward = now();
  MUSTER_CHECK(adam.step(parallel, 1e-3));
  auto const end = now();
  times.forward.push_back(ms_between(start, forward));
  times.backward.push_back(ms_between(forward, backward));
  times.optimizer.push_back(ms_between(backward, end));
  times.step.push_back(ms_between(start, end));
  return ok();
}

Result<void> bench(std::int64_t hidden) {
  Sequential net;
  net.add<Linear>(784, hidden);
  net.add<ReLU>();
  net.add<Linear>(hidden, 10);
  materialize(net, 1);
  auto const parallel = Parallel::none(net.parameters());
  Adam adam;
  auto const x = Tensor::zeros({64, 784});
  PhiloxStream const stream(1, "x");
  for (std::size_t i = 0; i < x.as<float>().size(); ++i)
    x.as<float>()[i] = unit_float(stream.word(i));
  auto const labels = Tensor::zeros({64}, DType::i64);
  Times times;
  for (int step = 0; step < kWarmup + kSteps; ++step) {
    if (step == kWarmup) times = {};
    MUSTER_CHECK(run_step(net, *parallel, adam, x, labels, times));
  }
  std::printf(
      "784-%lld-10, batch 64, %d thread(s): step %.3f ms (forward %.3f, backward %.3f, "
      "optimizer %.3f), %.0f samples/s\n",
      static_cast<long long>(hidden), cpu::compute_threads(), median(times.step),
      median(times.forward), median(times.backward), median(times.optimizer),
      64e3 / median(times.step));
  return ok();
}

}  // namespace
}  // namespace muster::worker

int main(int argc, char** argv) {
  using namespace muster::worker;
  cpu::set_compute_threads(argc > 1 ? std::max(1, std::atoi(argv[1])) : 1);
  for (auto const hidden : {256, 4096})
    if (auto const done = bench(hidden); !done) {
      std::fprintf(stderr, "step_bench: %s\n", to_string(done.error()).c_str());
      return 1;
    }
  return 0;
}
