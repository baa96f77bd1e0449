// SPDX-License-Identifier: Apache-2.0
#pragma once
// A server's counters as Prometheus text (exposition format 0.0.4).

#include "rendezvous/net/server.hpp"

#include <string>

namespace muster::net {

std::string metrics_text(Server const& server);

}  // namespace muster::net
