// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standard base64 with padding (RFC 4648), as torchrun wraps its round state.

#include <optional>
#include <string>
#include <string_view>

namespace muster::torchrun {

std::string to_base64(std::string_view bytes);
// Nothing where the text is no base64, or not padded as it must be.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace muster::torchrun
