// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of a wait that timed out: which keys, of how many, after how long, at which store.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster::net {

Error missing_keys_error(std::vector<std::string> const& missing, std::size_t asked,
                         Duration waited, std::string_view store);

}  // namespace muster::net
