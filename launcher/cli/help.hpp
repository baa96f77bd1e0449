// SPDX-License-Identifier: Apache-2.0
#pragma once
// The texts of `muster run`: --help and the usage that precedes a usage error. Pure.

#include <string>
#include <string_view>

namespace muster::launch {

// One screen per group of options, each with its variable and default, and what differs from
// torchrun.
std::string help_text(std::string_view program);

// The line that precedes a usage error.
std::string usage_text(std::string_view program);

}  // namespace muster::launch
