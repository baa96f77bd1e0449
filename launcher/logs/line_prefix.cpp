// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/line_prefix.hpp"

#include "launcher/logs/safe_substitute.hpp"

namespace muster::launch {

std::string line_prefix(std::optional<std::string> const& pattern, LineSource const& source) {
  if (!pattern) return "[" + source.role + std::to_string(source.local_rank) + "]:";
  return safe_substitute(*pattern, [&](std::string_view name) -> std::optional<std::string> {
    if (name == "role_name") return source.role;
    if (name == "local_rank") return std::to_string(source.local_rank);
    if (name == "rank") return std::to_string(source.rank);
    return std::nullopt;
  });
}

}  // namespace muster::launch
