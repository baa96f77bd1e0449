// SPDX-License-Identifier: Apache-2.0
#pragma once
// What may be a name: of a run, a host, an interface. It is shown on terminals, names folders, and
// is kept by others.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace muster {

inline constexpr std::size_t kMaxNameBytes = 1'024;

// Short, and without what would move a terminal's cursor. UTF-8 and the empty name pass.
inline bool is_name(std::string_view text) {
  return text.size() <= kMaxNameBytes && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

}  // namespace muster
