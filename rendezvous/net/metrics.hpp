// SPDX-License-Identifier: Apache-2.0
#pragma once
// A server's counters as Prometheus text (exposition format 0.0.4).

#include "rendezvous/net/control_counters.hpp"
#include "rendezvous/net/server.hpp"

#include <string>

namespace muster::net {

// `control`: of the host beside it, or null.
std::string metrics_text(Server const& server, ControlCounters const* control);

}  // namespace muster::net
