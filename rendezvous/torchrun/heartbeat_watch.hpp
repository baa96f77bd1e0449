// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who still renews its heartbeat? torchrun compares the times in the state with the reader's wall
// clock, so that 15 s between two clocks make agents evict each other. Here a heartbeat counts from
// when it was seen to change, on the reader's own clock; what it says is only compared with itself.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/torchrun/round_state.hpp"

namespace muster::torchrun {

struct HeartbeatWatch {
  struct Beat {
    PythonTime value;
    TimePoint seen;  // when it had changed
  };
  std::map<NodeDesc, Beat> beats;

  // Nodes that are in the state no more are forgotten.
  void look(RoundState const& state, TimePoint now);
  // All are given their whole time anew: they may have had reason to be silent.
  void restart(TimePoint now);
  // Zero for a node without a heartbeat.
  Duration silence(NodeDesc const& node, TimePoint now) const;
  // The wall clock that is furthest ahead among those heard of within `recent`, or `own_us`: a
  // heartbeat of that time is fresh to everybody.
  std::int64_t latest_clock_us(std::int64_t own_us, TimePoint now, Duration recent) const;
};

}  // namespace muster::torchrun
