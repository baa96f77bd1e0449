// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/line_prefix.hpp"

namespace muster::launch {
namespace {

bool is_name_start(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_part(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9');
}

// The length of the identifier at the start of `text`; 0 if there is none.
std::size_t name_length(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return 0;
  std::size_t length = 1;
  while (length < text.size() && is_name_part(text[length])) ++length;
  return length;
}

std::optional<std::string> value_of(std::string_view name, LineSource const& source) {
  if (name == "role_name") return source.role;
  if (name == "local_rank") return std::to_string(source.local_rank);
  if (name == "rank") return std::to_string(source.rank);
  return std::nullopt;
}

// Replaces the "$..." at the start of `text`; returns how much of it was used.
std::size_t replace_one(std::string_view text, LineSource const& source, std::string& out) {
  if (text.substr(1, 1) == "$") {
    out += '$';
    return 2;
  }
  bool const braced = text.substr(1, 1) == "{";
  auto const name = text.substr(braced ? 2 : 1, name_length(text.substr(braced ? 2 : 1)));
  auto const used = name.size() + (braced ? 3 : 1);
  bool const closed = !braced || text.substr(used - 1, 1) == "}";
  auto const value = closed ? value_of(name, source) : std::nullopt;
  if (!value) {
    out += '$';
    return 1;
  }
  out += *value;
  return used;
}

}  // namespace

std::string line_prefix(std::optional<std::string> const& pattern, LineSource const& source) {
  if (!pattern) return "[" + source.role + std::to_string(source.local_rank) + "]:";
  std::string out;
  std::string_view const text = *pattern;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '$') {
      at += replace_one(text.substr(at), source, out);
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace muster::launch
