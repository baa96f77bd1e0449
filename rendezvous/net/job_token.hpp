// SPDX-License-Identifier: Apache-2.0
#pragma once
// The job's secret, from MUSTER_TOKEN or a file that only its owner reads. A text: what stands in
// the file without the line's end.

#include "rendezvous/base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster::net {

inline constexpr char kTokenVariable[] = "MUSTER_TOKEN";
// Whoever records a handshake can try tokens on it at leisure: a short one is found.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokenBytes = 1'024;

// Nothing where neither is given. Refused: two different ones, a file that others may read, one
// that is too short to be a secret.
Result<std::optional<std::string>> read_job_token(std::optional<std::string_view> variable,
                                                  std::optional<std::string> const& file);

}  // namespace muster::net
