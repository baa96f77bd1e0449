// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partial-order reduction where it is certain: of orders that come to the same, one is followed.

#include "rendezvous/sim/channels.hpp"

#include <optional>

namespace muster::sim {

// The number of something due now that alone may be followed from here (an ample set of one event;
// Peled, "All from one, one for all", 1993): a call to a machine without power or over a cut link,
// or a letter over one. It changes only its own connection, and when it is called again or given
// up, and is the same before and after everything else that can happen now, as long as the machine
// and the link stay as they are. Nothing where a link is healed or something planned strikes at
// this moment. Not to be asked where may_mend() says so.
std::optional<std::uint64_t> ample_event(World const& world, View const& view);

// Whether a machine may be started or a link healed by one of `faults`, or by one of the plan's
// that strike at a moment of the protocol, which nothing announces.
bool may_mend(Plan const& plan, std::vector<Fault> const& faults);

}  // namespace muster::sim
