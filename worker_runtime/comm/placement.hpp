// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where this rank stands, read from the environment (env://) or a URL (tcp://). Pure.

#include "rendezvous/base/env_view.hpp"
#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::worker {

struct Placement {
  int rank = 0;
  int size = 1;
  std::string host;  // of the store; empty in a world of one, which needs none
  std::uint16_t port = 0;
  bool agent_store = false;  // the launcher serves the store; otherwise rank 0 does
  std::optional<int> local_rank;
  int restart_count = 0;
  std::uint64_t round = 0;  // muster's, 0 under other launchers
};

// url: "env://" or "tcp://host:port?rank=R&world_size=N" (IPv6 in brackets). The variables are
// torchrun's; without any of them env:// is a world of one. tcp:// takes nothing but the restart
// count and the round from the environment, so it works the same under a launcher and without.
Result<Placement> read_placement(EnvView const& environment, std::string_view url);

}  // namespace muster::worker
