// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small agreements between ranks, over any group: one outcome for all, one text for all, equality
// of a number. Collective: every rank calls them in the same order. Blocking.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/comm/process_group.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace muster::worker {

// Success if every rank's `mine` is a success; otherwise all ranks get the lowest failing rank's
// error, which names that rank.
Result<void> agree(ProcessGroup& group, Result<void> const& mine);

// `mine` of rank `root`, on all ranks.
Result<std::string> broadcast_text(ProcessGroup& group, std::string const& mine, int root);

// Every rank's number, by rank.
Result<std::vector<std::int64_t>> gather_numbers(ProcessGroup& group, std::int64_t mine);

}  // namespace muster::worker
