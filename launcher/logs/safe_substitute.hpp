// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python's string.Template.safe_substitute, which torchrun uses for log prefixes and for workers'
// arguments. Pure.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster::launch {

// ${name} and $name become value_of(name), "$$" becomes "$". What value_of does not know, and what
// is no name, stays as it is.
std::string safe_substitute(
    std::string_view pattern,
    std::function<std::optional<std::string>(std::string_view name)> const& value_of);

}  // namespace muster::launch
