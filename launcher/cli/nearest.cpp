// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace muster::launch {
namespace {

constexpr std::size_t kMaxWord = 64;  // longer ones are no typing errors, and the cost is quadratic

// Levenshtein's distance, row by row.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const above = row[j];
      auto const change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::vector<std::string_view> const& candidates) {
  if (word.size() > kMaxWord) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (auto const candidate : candidates) {
    auto const steps = distance(word, candidate);
    if (steps * 3 > std::max(word.size(), candidate.size())) continue;
    if (best && steps >= best_distance) continue;
    best = candidate;
    best_distance = steps;
  }
  return best;
}

}  // namespace muster::launch
