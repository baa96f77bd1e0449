// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/safe_substitute.hpp"

namespace muster::launch {
namespace {

bool is_name_start(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_part(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9');
}

// The identifier at the start of `text`; empty if there is none.
std::string_view leading_name(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return {};
  std::size_t length = 1;
  while (length < text.size() && is_name_part(text[length])) ++length;
  return text.substr(0, length);
}

// What a "$..." at the start of a text names, and how long it is.
struct Placeholder {
  std::string_view name;  // empty: it names nothing
  std::size_t length = 1;
};

Placeholder placeholder_at(std::string_view text) {
  bool const braced = text.substr(1, 1) == "{";
  auto const name = leading_name(text.substr(braced ? 2 : 1));
  if (!braced) return {name, 1 + name.size()};
  bool const closed = text.substr(2 + name.size(), 1) == "}";
  return {closed ? name : std::string_view(), 3 + name.size()};
}

}  // namespace

std::string safe_substitute(
    std::string_view pattern,
    std::function<std::optional<std::string>(std::string_view name)> const& value_of) {
  std::string out;
  for (;;) {
    auto const dollar = pattern.find('$');
    out += pattern.substr(0, dollar);
    if (dollar == std::string_view::npos) return out;
    pattern.remove_prefix(dollar);
    auto const found = placeholder_at(pattern);
    auto const value = found.name.empty() ? std::nullopt : value_of(found.name);
    out += value.value_or("$");
    bool const escaped = pattern.substr(1, 1) == "$";
    pattern.remove_prefix(value ? found.length : escaped ? 2 : 1);
  }
}

}  // namespace muster::launch
