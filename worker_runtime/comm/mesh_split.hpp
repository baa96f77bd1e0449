// SPDX-License-Identifier: Apache-2.0
#pragma once
// The mesh of a sub-group: seats are exchanged over the parent group, without the store.

#include "worker_runtime/comm/mesh.hpp"
#include "worker_runtime/comm/split_choices.hpp"

namespace muster::worker {

// Collective over `parent`. seats: of the parent, by rank. Nothing for a negative
// color.
Result<std::optional<Mesh>> split_mesh(ProcessGroup& parent, std::vector<Seat> const& seats,
                                       std::vector<SplitChoice> const& choices, int color,
                                       Deadline deadline);

}  // namespace muster::worker
