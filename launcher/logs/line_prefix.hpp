// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stands before each line of a worker whose stream is tee'd to the console. Pure.

#include <optional>
#include <string>
#include <string_view>

namespace muster::launch {

struct LineSource {
  std::string role;
  int local_rank = 0;
  int rank = 0;
};

// "[<role><local rank>]:" with no space, or the template (TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE)
// with ${role_name}, ${local_rank} and ${rank} filled in as Python's safe_substitute does: unknown
// names stay, "$$" becomes "$".
std::string line_prefix(std::optional<std::string> const& pattern, LineSource const& source);

}  // namespace muster::launch
