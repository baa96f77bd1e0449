// SPDX-License-Identifier: Apache-2.0
// A worker for worker_under_torchrun.py: opens a session, reduces, checks the bits against the tree
// and says so. With --die-once rank 1 kills itself in its first life, in the middle of operations.
#include "rendezvous/base/env_contract.hpp"
#include "worker_runtime/collectives/kernels.hpp"
#include "worker_runtime/comm/session.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>

using namespace muster;
using namespace muster::worker;

namespace {

constexpr std::int64_t kCount = 100'003;

Tensor part_of(int rank) {
  auto const tensor = Tensor::zeros(Shape{kCount});
  auto const values = tensor.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 1.0F / static_cast<float>(i + 3 * static_cast<std::size_t>(rank) + 1);
  return tensor;
}

Result<void> reduce_and_check(Session& session) {
  std::vector<Tensor> parts;
  for (int rank = 0; rank < session.size(); ++rank) parts.push_back(part_of(rank));
  auto const mine = part_of(session.rank());
  MUSTER_CHECK(all_reduce(session.world(), mine).wait());
  auto const expected = tree_reduced(parts);
  if (std::memcmp(mine.data(), expected.data(), mine.bytes()) != 0)
    return Error{Errc::corrupt, "the sum differs from the tree", {}};
  return ok();
}

Result<void> work(std::string const& url_prefix, bool die_once) {
  auto const environment = EnvView::from_process();
  SessionOptions options;
  options.timeout = std::chrono::seconds{60};
  if (!url_prefix.empty()) {
    MUSTER_TRY(auto const rank, environment.need(env::kRank));
    MUSTER_TRY(auto const size, environment.need(env::kWorldSize));
    options.url = url_prefix + "?rank=" + rank + "&world_size=" + size;
  }
  MUSTER_TRY(auto session, Session::open(environment, options));
  for (int step = 0; step < 20; ++step) {
    MUSTER_CHECK(reduce_and_check(session));
    if (die_once && step == 10 && session.rank() == 1 && session.restart_count() == 0)
      std::raise(SIGKILL);
  }
  std::printf("rank %d of %d, restart %d: sums have the tree's bits\n", session.rank(),
              session.size(), session.restart_count());
  std::fflush(stdout);
  return ok();
}

}  // namespace

int main(int argc, char** argv) {
  std::string url;
  bool die_once = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--die-once")
      die_once = true;
    else
      url = argv[i];
  }
  return run_main([&] { return work(url, die_once); });
}
