// SPDX-License-Identifier: Apache-2.0
#pragma once
// What store_bench asks of a server, in TCPStore's protocol and, where Redis has the like, in RESP.

#include "rendezvous/bench/load.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace muster::bench {

struct Case {
  std::string_view name;
  // For connection i; nothing where the dialect lacks it. Null: the wait-wake case.
  std::optional<Script> (*script)(Dialect dialect, std::size_t i) = nullptr;
};

std::vector<Case> const& cases();

}  // namespace muster::bench
