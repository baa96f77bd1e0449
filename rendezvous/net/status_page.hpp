// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a server holds and who waits for what, as JSON for people and scripts.

#include "rendezvous/net/server.hpp"

#include <string>

namespace muster::net {

std::string status_json(Server const& server);

}  // namespace muster::net
