// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/round_rules.hpp"

namespace muster::torchrun {

bool takes_part(RoundState const& state, NodeDesc const& node) {
  return state.participants.contains(node);
}

bool waits(RoundState const& state, NodeDesc const& node) {
  return state.wait_list.contains(node);
}

bool is_spare(RoundState const& state, NodeDesc const& node) {
  return state.redundancy_list && state.redundancy_list->contains(node);
}

bool is_known(RoundState const& state, NodeDesc const& node) {
  return takes_part(state, node) || waits(state, node) || is_spare(state, node) ||
         state.last_heartbeats.contains(node);
}

void add_participant(RoundState& state, NodeDesc const& node, PythonTime deadline,
                     RoundSizes sizes) {
  state.wait_list.erase(node);
  state.participants[node] = 0;
  if (state.participants.size() == sizes.min_nodes) state.deadline = deadline;
}

void add_waiting(RoundState& state, NodeDesc const& node) {
  if (state.redundancy_list) state.redundancy_list->erase(node);
  state.wait_list.insert(node);
}

void add_spare(RoundState& state, NodeDesc const& node) {
  if (state.redundancy_list) state.redundancy_list->insert(node);
}

void remove_node(RoundState& state, NodeDesc const& node, RoundSizes sizes) {
  state.last_heartbeats.erase(node);
  state.wait_list.erase(node);
  if (state.redundancy_list) state.redundancy_list->erase(node);
  if (state.participants.erase(node) == 0) return;
  if (state.complete) {
    if (!state.participants.empty()) return;
    state.complete = false;
    ++state.round;
  } else if (state.participants.size() < sizes.min_nodes) {
    state.deadline.reset();
  }
}

void complete_round(RoundState& state, std::optional<NodeDesc> const& first) {
  state.complete = true;
  state.deadline.reset();
  auto const leads = first && takes_part(state, *first);
  std::int64_t next = leads ? 1 : 0;
  for (auto& [node, rank] : state.participants) rank = leads && node == *first ? 0 : next++;
}

std::optional<std::vector<NodeDesc>> members_by_rank(RoundState const& state) {
  if (!state.complete) return std::nullopt;
  std::vector<NodeDesc> members(state.participants.size());
  for (auto const& [node, rank] : state.participants) {
    auto const at = static_cast<std::size_t>(rank);
    if (rank < 0 || at >= members.size() || !members[at].addr.empty()) return std::nullopt;
    members[at] = node;
  }
  return members;
}

}  // namespace muster::torchrun
