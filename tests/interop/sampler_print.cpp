// SPDX-License-Identifier: Apache-2.0
// For sampler_torch.py: reads lines "size replicas rank seed shuffle drop_last epoch" and prints
// the rows that muster's sampler gives, a line each.
#include "worker_runtime/data/sampler.hpp"

#include <iostream>

int main() {
  using namespace muster::worker;
  SamplerOptions options;
  bool drop_last = false;
  std::int64_t epoch = 0;
  while (std::cin >> options.size >> options.replicas >> options.rank >> options.seed >>
         options.shuffle >> drop_last >> epoch) {
    options.tail = drop_last ? Tail::drop : Tail::pad;
    auto sampler = DistributedSampler::make(options);
    if (!sampler) {
      std::cerr << to_string(sampler.error()) << '\n';
      return 1;
    }
    sampler->set_epoch(epoch);
    for (auto const row : sampler->remaining()) std::cout << row << ' ';
    std::cout << '\n';
  }
  return 0;
}
