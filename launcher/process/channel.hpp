// SPDX-License-Identifier: Apache-2.0
#pragma once
// The packets between guardian and agent: fixed structs over a SOCK_SEQPACKET pair, both ends the
// same program. The guardian never blocks on it and never needs an answer.

#include <cstdint>
#include <type_traits>

namespace muster::launch {

enum class Notice : std::uint32_t {
  signal = 1,   // guardian to agent: this signal came, from that process
  suspend = 2,  // agent to guardian: the workers are stopped, stop yourself (Ctrl-Z)
  leaf = 3,     // agent to guardian: the workers' cgroup, to be removed if the agent cannot
  alive = 4,    // agent to guardian: end us all if this is not said again within patience_ms
};

struct ChannelPacket {
  Notice notice = Notice::signal;
  std::int32_t signal = 0;
  std::int32_t sender_pid = 0;    // 0: the kernel (a terminal)
  std::uint32_t patience_ms = 0;  // 0: the guardian waits for ever
  char path[496] = {};            // of the leaf, ends with 0
};
static_assert(std::is_trivially_copyable_v<ChannelPacket>);

}  // namespace muster::launch
