// SPDX-License-Identifier: Apache-2.0
#pragma once
// A hash map from text that is looked up by string_view, without making a string first.

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace muster::store {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace muster::store
