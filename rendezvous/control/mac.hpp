// SPDX-License-Identifier: Apache-2.0
#pragma once
// HMAC-SHA256 as a value: the pure files of this folder call it, a shell brings it
// (net/secure_module).

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace muster::control {

inline constexpr std::size_t kMacBytes = 32;

// kMacBytes bytes for the parts, one after the other: who calls makes their borders unambiguous.
using Mac =
    std::function<std::string(std::string_view key, std::span<std::string_view const> parts)>;

// Takes as long for a wrong guess that begins well as for any other.
inline bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return differs == 0;
}

}  // namespace muster::control
