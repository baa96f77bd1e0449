// SPDX-License-Identifier: Apache-2.0
#pragma once
// The known word that a mistyped one most likely meant. Pure.

#include <optional>
#include <string_view>
#include <vector>

namespace muster::launch {

// The candidate with the least edit distance, if that is at most a third of the longer word's
// length; of equals the first.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::vector<std::string_view> const& candidates);

}  // namespace muster::launch
