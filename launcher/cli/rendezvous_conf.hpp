// SPDX-License-Identifier: Apache-2.0
#pragma once
// --rdzv-conf: torchrun's keys and muster's own, checked against each other. Pure; called by
// settle_rendezvous().

#include "launcher/cli/options.hpp"
#include "rendezvous/base/result.hpp"

#include <optional>

namespace muster::launch {

// Fills options.settings from options.rdzv_conf; backend and node range are set already.
Result<void> read_rendezvous_settings(RunOptions& options);

// The key `rank`, which some use for --node-rank.
Result<std::optional<long long>> rank_setting(RunOptions const& options);

}  // namespace muster::launch
