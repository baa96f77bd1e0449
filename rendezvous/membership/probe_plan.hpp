// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who dials whom before a round's workers start, so that a firewall between two nodes is named, and
// not left to a collective that hangs. Pure.

#include "rendezvous/membership/probe.hpp"

#include <string>
#include <vector>

namespace muster::membership {

// Each node dials every other one up to here; beyond it the master and kProbedPeers others, so that
// the number of connections grows with the nodes and not with their square.
inline constexpr std::size_t kProbeAllNodes = 32;
inline constexpr std::size_t kProbedPeers = 3;

// The ranks that the node of this rank dials, of `count`: at rank 0 the workers' store, at the
// others their agent. Each node beyond the master is dialled by equally many. Of one node at a
// time, since one that is late is asked again, and the others' share of the plan is not for nothing
// where they are thousands. `tested`: these nodes had a round before, so nothing but the port of
// the store is new.
std::vector<std::size_t> probed_ranks(std::size_t rank, std::size_t count, bool tested = false);

// "host a (10.0.0.1) cannot reach host b at 10.0.0.2:29400: connect: timed out". `dialler` is the
// probing node's own target.
std::string describe(ProbeTarget const& dialler, ProbeFailure const& failure);

}  // namespace muster::membership
