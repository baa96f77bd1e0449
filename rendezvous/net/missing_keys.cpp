// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/missing_keys.hpp"

#include <algorithm>

namespace muster::net {
namespace {

constexpr std::size_t kNamed = 8;

}  // namespace

Error missing_keys_error(std::vector<std::string> const& missing, std::size_t asked,
                         Duration waited, std::string_view store) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  std::string names;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i)
    names += (i == 0 ? "'" : ", '") + missing[i] + "'";
  if (missing.size() > kNamed) names += " and " + std::to_string(missing.size() - kNamed) + " more";
  if (missing.empty()) names = "none (they came just now)";
  return Error{Errc::timeout,
               "store " + std::string(store) + ": waited " + std::to_string(ms) + " ms for " +
                   std::to_string(asked) + (asked == 1 ? " key" : " keys") + "; missing: " + names,
               "see whether the rank that sets it is alive"};
}

}  // namespace muster::net
