// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text form of a list of faults: one a line, `SECONDS VERB ARGUMENTS`; `#` begins a comment.
//
//   5.0  partition h1,h2 | h3     nodes of different groups hear nothing of each other
//   5    oneway h1 > h2,h3        what h1 says does not arrive there
//   7    heal                     all links work again
//   8    break h1 h2              their connections end; they may call again
//   8    weather delay=20ms loss=1% breaks=0.1      of all links; breaks per connection and second
//   9    pause h2 2s              SIGSTOP of its agent
//   9    freeze h2 2s             the whole machine stands still
//   9    late h2 200ms            its timers fire so much later
//   10   power h1                 it has none any more
//   11   kill h3 agent            SIGKILL; `both`: of agent and guardian at once
//   12   start h3                 a new life; a node whose first line this is begins then
//   13   term h2                  SIGTERM
//   14   fail h2 3                a worker exits with this code
//   15   stick h2                 the next stop there leaves a worker that cannot be killed
//   16   finish                   the script comes to its end everywhere
//
// A daemon's node has the number after the last agent's.

#include "rendezvous/base/result.hpp"
#include "rendezvous/sim/fault.hpp"

#include <string_view>

namespace muster::sim {

// An error names the line, what stands there and what was expected. `nodes`: how many there are.
Result<std::vector<TimedFault>> parse_faults(std::string_view text, NodeIndex nodes);

// "250ms", "2s", "1.5s"; a number alone is seconds.
Result<Duration> parse_duration(std::string_view text);

}  // namespace muster::sim
