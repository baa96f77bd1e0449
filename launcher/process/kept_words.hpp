// SPDX-License-Identifier: Apache-2.0
#pragma once
// The guardian's part of the last word: connections that the agent opened, and bytes that it wrote
// down for each of them, to be said when the agent and every worker are dead and reaped. They prove
// to the other nodes what no broken connection can. No heap, no Asio; never reads.

#include "launcher/process/channel.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <array>
#include <cstddef>

namespace muster::launch {

// The host, and the voters of a record (31 at most).
inline constexpr std::size_t kLastWordSlots = 32;
inline constexpr std::size_t kLastWordBytes = sizeof(ChannelPacket::bytes);

class KeptWords {
 public:
  // A packet of Notice::last_word: the connection takes the slot's place. Without one the slot is
  // closed.
  void take(ChannelPacket const& packet, UniqueFd connection);
  // Closes all of them; nothing is said.
  void forget();
  // Says all of it and hangs up. Blocks nowhere: nothing was written before but an opening, so
  // there is room. Returns how many were said whole.
  int speak();

 private:
  struct Slot {
    UniqueFd connection;
    std::size_t size = 0;
    std::array<char, kLastWordBytes> bytes{};
  };
  std::array<Slot, kLastWordSlots> slots_{};
};

}  // namespace muster::launch
