// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who goes into which sub-group: everybody's (color, key) is gathered, then each rank computes the
// same answer.

#include "worker_runtime/comm/process_group.hpp"

namespace muster::worker {

struct SplitChoice {
  int color = 0, key = 0;
};

// Collective: everybody's choice, by rank.
Result<std::vector<SplitChoice>> exchange_choices(ProcessGroup& group, int color, int key);

// Ranks of this color, ordered by (key, rank). Pure.
std::vector<int> members_of(std::vector<SplitChoice> const& choices, int color);

}  // namespace muster::worker
