// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a server holds, who waits for what, and where each job stands, as JSON for people and
// scripts.

#include "rendezvous/membership/explain.hpp"
#include "rendezvous/net/server.hpp"

#include <map>
#include <string>

namespace muster::net {

// By run id, why each job that is hosted here is where it is (HostService::reasons).
using JobReasons = std::map<std::string, membership::Why>;

std::string status_json(Server const& server, JobReasons const& jobs);

}  // namespace muster::net
