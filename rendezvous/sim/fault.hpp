// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be done to a simulated job from outside, and when. Values only.

#include "rendezvous/base/clock.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace muster::sim {

using NodeIndex = std::uint32_t;  // 0 is h1; the last one is the daemon's where there is one
using NodeGroup = std::vector<NodeIndex>;

namespace fault {

struct Partition {  // nodes of different groups hear nothing of each other; unnamed ones are one
                    // group
  std::vector<NodeGroup> groups;
};
struct OneWay {  // what the first say does not reach the second
  NodeGroup from, to;
};
struct Heal {};
struct Break {  // every connection between the two; they may call again at once
  NodeIndex a = 0, b = 0;
};
struct Weather {  // of all links from now on
  Duration most_delay{};
  double loss = 0;               // of a packet: it is sent again, and what follows waits
  double breaks_per_second = 0;  // of a connection
};
struct Pause {  // SIGSTOP of the agent, or of the daemon
  NodeIndex node = 0;
  Duration length{};
};
struct Freeze {  // the whole machine: guardian, agent and workers
  NodeIndex node = 0;
  Duration length{};
};
struct Late {  // timers of this node fire so much later
  NodeIndex node = 0;
  Duration by{};
};
struct PowerLoss {
  NodeIndex node = 0;
};
struct Kill {  // SIGKILL
  NodeIndex node = 0;
  bool guardian_too = false;
};
struct Start {  // a new life of an agent or daemon; powers the node on
  NodeIndex node = 0;
};
struct Terminate {  // SIGTERM
  NodeIndex node = 0;
};
struct FailWorker {
  NodeIndex node = 0;
  std::int32_t exit_code = 1;
};
struct FinishWorkers {  // the script has come to its end on every node that runs
};
struct Stick {  // the next stop on this node leaves a worker that SIGKILL cannot end
  NodeIndex node = 0;
};

}  // namespace fault

using Fault = std::variant<fault::Partition, fault::OneWay, fault::Heal, fault::Break,
                           fault::Weather, fault::Pause, fault::Freeze, fault::Late,
                           fault::PowerLoss, fault::Kill, fault::Start, fault::Terminate,
                           fault::FailWorker, fault::FinishWorkers, fault::Stick>;

struct TimedFault {
  Duration at{};  // since the beginning
  Fault what;
};

// "h2" for 1.
std::string node_name(NodeIndex node);

// As a line of a fault file says it, without the time.
std::string to_text(Fault const& fault);

// A pause has one; most faults are over when they have struck.
Duration length_of(Fault const& fault);

}  // namespace muster::sim
