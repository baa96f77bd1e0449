// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host of one job as a pure machine: events and time in; messages, one timer and a reason out.
// It forms the round, restarts it while the budget lasts, and ends the job. Nothing is decided
// elsewhere.

#include "rendezvous/membership/effect.hpp"
#include "rendezvous/membership/event.hpp"
#include "rendezvous/membership/host.hpp"

namespace muster::membership {

HostStep host_step(Host& host, HostEvent const& event, TimePoint now, JobSettings const& settings);

// The record that holds for messages of this host.
RoundNumber last_round(Host const& host);

}  // namespace muster::membership
