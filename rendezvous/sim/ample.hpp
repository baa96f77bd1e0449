// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which orders of events need not be told apart.

#include "rendezvous/sim/channels.hpp"

#include <optional>

namespace muster::sim {

// The number of something that is due and may come first without loss, for it comes to the same
// before and after everything else that can happen meanwhile: a call to a machine without power,
// or over a cut link, and a letter over one. They change their own connection alone, and nobody
// sees that as long as the machine and the link stay as they are. (An ample set of one event;
// Peled, "All from one, one for all", 1993.) Nothing where a link is healed or something planned
// strikes at this moment, and not to be asked where `Bounds::faults` could start a machine or heal.
std::optional<std::uint64_t> comes_first_without_loss(World const& world, View const& view);

}  // namespace muster::sim
