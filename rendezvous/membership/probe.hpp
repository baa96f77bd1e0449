// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one node is asked to dial before the workers start, and what came of it. Values only.

#include <cstdint>
#include <string>

namespace muster::membership {

struct ProbeTarget {
  std::string host;     // for people
  std::string address;  // numeric
  std::uint16_t port = 0;
  bool is_store = false;  // the workers' store: it has to answer, and not only to be there

  friend bool operator==(ProbeTarget const&, ProbeTarget const&) = default;
};

struct ProbeFailure {
  ProbeTarget target;
  std::string error;  // the step and what the system said: "connect: Connection refused"

  friend bool operator==(ProbeFailure const&, ProbeFailure const&) = default;
};

}  // namespace muster::membership
