// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers in values as upstream reads them: std::stoll, so leading blanks and "+" are allowed and
// what follows the digits is ignored. Pure.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::store {

inline std::optional<std::int64_t> leading_decimal(std::string_view text) {
  auto const begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  auto const parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return value;
}

// Two's complement, as upstream's sum comes out in practice.
inline std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace muster::store
