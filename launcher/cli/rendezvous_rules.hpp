// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of validation that says where and how nodes meet: backend, endpoint, id, node rank,
// --rdzv-conf. Pure; called by validate().

#include "launcher/cli/validate.hpp"

namespace muster::launch {

// Fills the rendezvous fields of `options`, whose node range is set already.
Result<void> settle_rendezvous(RawOptions const& raw, EnvView const& env,
                               std::string_view fresh_run_id, RunOptions& options);

}  // namespace muster::launch
