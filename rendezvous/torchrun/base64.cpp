// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/base64.hpp"

#include <array>
#include <cstdint>

namespace muster::torchrun {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::int8_t kNoDigit = -1;

constexpr std::array<std::int8_t, 256> digits() {
  std::array<std::int8_t, 256> table{};
  for (auto& digit : table) digit = kNoDigit;
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  return table;
}
constexpr auto kDigits = digits();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto const group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      out.push_back(j <= group.size() ? kAlphabet[bits >> (18 - 6 * j) & 63U] : '=');
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  std::size_t count = 0;
  for (auto const byte : text) {
    auto const digit = kDigits[static_cast<unsigned char>(byte)];
    if (digit == kNoDigit) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count));
    bits &= (1U << count) - 1;
  }
  // What padding leaves over must be nothing.
  if (bits != 0) return std::nullopt;
  return out;
}

}  // namespace muster::torchrun
