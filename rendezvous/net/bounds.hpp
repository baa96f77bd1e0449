// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much strangers may take of a listener. Values that follow from how many files this process
// may open: whoever only connects must not use up what workers and members need.

#include "rendezvous/net/lobby.hpp"
#include "rendezvous/net/request_budget.hpp"

namespace muster::net {

struct Bounds {
  LobbyRules lobby;
  BudgetRules requests;
  std::size_t clients = 768;  // connections that use the store
};

Bounds bounds_of(std::size_t open_files);
// By the soft limit of open files as it is now.
Bounds bounds_of_this_process();

}  // namespace muster::net
