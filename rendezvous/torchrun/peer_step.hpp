// SPDX-License-Identifier: Apache-2.0
#pragma once
// muster as one participant of torchrun's rendezvous: what to read and to write, when workers start
// and stop, when it is over. Pure. The state machine is torchrun's own (dynamic_rendezvous); what
// differs, and why, is in rendezvous/README.md, "Among torchrun agents".

#include "rendezvous/torchrun/peer_event.hpp"

namespace muster::torchrun {

std::vector<peer::Effect> peer_step(PeerState& state, peer::Event const& event, PeerClock clock);

}  // namespace muster::torchrun
