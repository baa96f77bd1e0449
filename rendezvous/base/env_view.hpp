// SPDX-License-Identifier: Apache-2.0
#pragma once
// Environment variables as a value: read once from the process at the edge (from_process), made up
// in tests.

#include "rendezvous/base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

class EnvView {
 public:
  EnvView() = default;
  explicit EnvView(std::map<std::string, std::string, std::less<>> values)
      : values_(std::move(values)) {}

  // A copy of this process's environment. Call before other threads start.
  static EnvView from_process();

  std::optional<std::string_view> get(std::string_view name) const {
    auto const found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  // The value, or an error that names the variable. An empty value counts as missing.
  Result<std::string> need(std::string_view name) const;
  // The value as an integer, or an error that names the variable and what it held.
  Result<long long> need_int(std::string_view name) const;

  void set(std::string name, std::string value) {
    values_.insert_or_assign(std::move(name), std::move(value));
  }
  void unset(std::string_view name) {
    if (auto const found = values_.find(name); found != values_.end()) values_.erase(found);
  }
  std::map<std::string, std::string, std::less<>> const& all() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

// The whole of `text` as a decimal integer ("12", "-3"; no spaces, no "+"), or nothing.
std::optional<long long> parse_int(std::string_view text);

}  // namespace muster
