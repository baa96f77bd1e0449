// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/optim/clip.hpp"

#include "worker_runtime/cpu/elementwise.hpp"

#include <cmath>
#include <string>

namespace muster::worker {

Result<double> clip_grad_norm(Parallel& parallel, double max_norm) {
  if (!parallel.finished())
    return Error{Errc::bad_input, "clip_grad_norm: gradients are not final",
                 "call Parallel::finish() of a synchronised window first"};
  auto const shards = parallel.shards();
  double sum = 0;
  for (auto const& shard : shards) sum += cpu::sum_of_squares(shard.grad.as<float>());
  auto const norm = std::sqrt(sum);
  if (!std::isfinite(norm))
    return Error{Errc::non_finite, "clip_grad_norm: the norm is " + std::to_string(norm),
                 "lower the learning rate, or look at the step's input"};
  auto const factor = max_norm / (norm + 1e-6);
  if (factor < 1.0)
    for (auto const& shard : shards) cpu::scale(shard.grad.as<float>(), static_cast<float>(factor));
  return norm;
}

}  // namespace muster::worker
