// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/env_view.hpp"

#include <charconv>
#include <unistd.h>

namespace muster {

EnvView EnvView::from_process() {
  EnvView view;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view const pair{*entry};
    auto const equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    view.values_.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return view;
}

Result<std::string> EnvView::need(std::string_view name) const {
  auto const value = get(name);
  if (!value || value->empty())
    return Error{Errc::bad_input, "the variable " + std::string(name) + " is not set",
                 "start the program with muster run or torchrun, or set it"};
  return std::string(*value);
}

Result<long long> EnvView::need_int(std::string_view name) const {
  MUSTER_TRY(auto const text, need(name));
  auto const number = parse_int(text);
  if (!number)
    return Error{Errc::bad_input,
                 "the variable " + std::string(name) + " is '" + text + "', expected an integer",
                 {}};
  return *number;
}

std::optional<long long> parse_int(std::string_view text) {
  long long value = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster
