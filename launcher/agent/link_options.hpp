// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a link is told of its job and its node. Those of a TorchrunLink are beside it.

#include "rendezvous/membership/record.hpp"
#include "rendezvous/membership/settings.hpp"
#include "rendezvous/net/dialer.hpp"
#include "rendezvous/net/security.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::launch {

struct LinkOptions {
  std::string run_id;
  membership::NodeFacts facts;  // what this node says of itself
};

struct LocalLinkOptions : LinkOptions {  // facts.address: where open_store's port is reached
  std::uint32_t max_restarts = 0;
  bool fixed_port = false;  // open_store always uses the same port: asked only when all workers of
                            // the round before are dead
};

struct RemoteLinkOptions : LinkOptions {
  std::string backend;             // "c10d" or "static"
  std::vector<net::Place> places;  // the endpoint: at least one
  std::optional<bool> is_host;     // unset: found out by binding
  bool may_begin = true;           // false: takes part only in a job that somebody else hosts
  net::Security::Ptr security;     // what nodes have to prove to each other; null: nothing
  bool open_store = false;         // stores take connections from everybody, token or not
  membership::JobSettings job;
};

}  // namespace muster::launch
