// SPDX-License-Identifier: Apache-2.0
#pragma once
// gzip bytes to plain bytes, in memory and with a bound. Strict: a member that ends early, a wrong
// checksum and bytes after the last member are errors. Pure.

#include "rendezvous/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::worker {

bool is_gzip(std::string_view bytes);
Result<std::string> gunzip(std::string_view bytes, std::size_t limit_bytes);

}  // namespace muster::worker
