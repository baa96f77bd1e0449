// SPDX-License-Identifier: Apache-2.0
#pragma once
// The packets between guardian and agent: fixed structs over a SOCK_SEQPACKET pair, both ends the
// same program. The guardian never blocks on it and never needs an answer.

#include <cstdint>
#include <type_traits>

namespace muster::launch {

enum class Notice : std::uint32_t {
  signal = 1,     // guardian to agent: this signal came, from that process
  suspend = 2,    // agent to guardian: the workers are stopped, stop yourself (Ctrl-Z)
  leaf = 3,       // agent to guardian: the workers' cgroup, to be removed if the agent cannot
  alive = 4,      // agent to guardian: fence us if this is not said again within patience_ms
  last_word = 5,  // agent to guardian: what is said in `slot` when all are dead (kept_words.hpp)
  finished = 6,   // agent to guardian: the job knows how this node ended; keep no last word
  fenced = 7,     // guardian to agent: you did not run, your workers are being killed
  begun = 8,      // agent to guardian: the loop runs, signals are heard
};

struct ChannelPacket {
  Notice notice = Notice::signal;
  std::int32_t signal = 0;
  std::int32_t sender_pid = 0;    // 0: the kernel (a terminal)
  std::uint32_t patience_ms = 0;  // 0: the guardian waits for ever
  std::uint32_t mercy_ms = 0;     // a fenced agent that is silent for so long is ended, too
  std::uint16_t slot = 0;
  std::uint16_t size = 0;  // of a last word
  char bytes[1024] = {};   // the leaf's path, which ends with 0; a last word
};
static_assert(std::is_trivially_copyable_v<ChannelPacket>);

}  // namespace muster::launch
