// SPDX-License-Identifier: Apache-2.0
#pragma once
// torchrun's edits of the shared state, each with what follows from it there (dynamic_rendezvous:
// _DistributedRendezvousOpExecutor, _remove_participant_epilogue). Who may make which one, and
// when, is peer_step's business.

#include "rendezvous/torchrun/round_state.hpp"

namespace muster::torchrun {

struct RoundSizes {
  std::uint32_t min_nodes = 1, max_nodes = 1;
};

bool takes_part(RoundState const& state, NodeDesc const& node);
bool waits(RoundState const& state, NodeDesc const& node);
bool is_spare(RoundState const& state, NodeDesc const& node);
// In any of the three, or with a heartbeat.
bool is_known(RoundState const& state, NodeDesc const& node);

// The one who makes it MIN sets the deadline. Who makes it MAX completes the round after this.
void add_participant(RoundState& state, NodeDesc const& node, PythonTime deadline,
                     RoundSizes sizes);
void add_waiting(RoundState& state, NodeDesc const& node);
void add_spare(RoundState& state, NodeDesc const& node);  // where the state knows spares
// From everywhere. The last one to leave a complete round opens the next; an open one that falls
// below MIN has no deadline.
void remove_node(RoundState& state, NodeDesc const& node, RoundSizes sizes);

// Ranks in the order of nodes; but `first`, if it takes part, is rank 0: torchrun's agents keep the
// address of the workers' store that they were once given, so its owner should go on giving it.
void complete_round(RoundState& state, std::optional<NodeDesc> const& first);

// By rank; nothing unless the round is complete and its ranks are 0, 1, 2, ...
std::optional<std::vector<NodeDesc>> members_by_rank(RoundState const& state);

}  // namespace muster::torchrun
