// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/torchrun/heartbeat_watch.hpp"

#include <algorithm>

namespace muster::torchrun {

void HeartbeatWatch::look(RoundState const& state, TimePoint now) {
  std::erase_if(beats,
                [&](auto const& beat) { return !state.last_heartbeats.contains(beat.first); });
  for (auto const& [node, value] : state.last_heartbeats) {
    auto const [at, is_new] = beats.try_emplace(node, Beat{value, now});
    if (!is_new && at->second.value != value) at->second = {value, now};
  }
}

void HeartbeatWatch::restart(TimePoint now) {
  for (auto& [node, beat] : beats) beat.seen = now;
}

Duration HeartbeatWatch::silence(NodeDesc const& node, TimePoint now) const {
  auto const found = beats.find(node);
  return found == beats.end() ? Duration::zero() : now - found->second.seen;
}

std::int64_t HeartbeatWatch::latest_clock_us(std::int64_t own_us, TimePoint now,
                                             Duration recent) const {
  auto latest = own_us;
  for (auto const& [node, beat] : beats) {
    auto const age = now - beat.seen;
    if (age >= recent) continue;
    auto const age_us = std::chrono::duration_cast<std::chrono::microseconds>(age).count();
    latest = std::max(latest, beat.value.utc_us + age_us);
  }
  return latest;
}

}  // namespace muster::torchrun
