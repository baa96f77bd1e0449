// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/kept_words.hpp"

#include <algorithm>
#include <sys/socket.h>
#include <utility>

namespace muster::launch {

void KeptWords::take(ChannelPacket const& packet, UniqueFd connection) {
  if (packet.slot >= slots_.size()) return;
  auto& slot = slots_[packet.slot];
  slot.connection = std::move(connection);
  slot.size = std::min<std::size_t>(packet.size, slot.bytes.size());
  std::copy_n(packet.bytes, slot.size, slot.bytes.begin());
}

void KeptWords::forget() {
  for (auto& slot : slots_) slot.connection.reset();
}

int KeptWords::speak() {
  int said = 0;
  for (auto& slot : slots_) {
    if (!slot.connection) continue;
    auto const sent =
        ::send(slot.connection.get(), slot.bytes.data(), slot.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(slot.size)) ++said;
    // The kernel goes on sending when we are gone.
    ::shutdown(slot.connection.get(), SHUT_WR);
    slot.connection.reset();
  }
  return said;
}

}  // namespace muster::launch
