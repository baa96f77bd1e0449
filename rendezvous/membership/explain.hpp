// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a host is where it is: a value for tests, a sentence for people, JSON for a status page.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/ids.hpp"

#include <cstdint>
#include <string>
#include <variant>

namespace muster::membership::why {

struct WaitingForNodes {
  std::uint32_t have = 0, min_nodes = 0, max_nodes = 0;
  friend bool operator==(WaitingForNodes const&, WaitingForNodes const&) = default;
};
struct LastCall {  // enough are there; newcomers have until then
  std::uint32_t have = 0, max_nodes = 0;
  TimePoint until;
  friend bool operator==(LastCall const&, LastCall const&) = default;
};
struct Holding {  // a job that has begun has too few nodes, or waits for those that are coming back
  std::uint32_t have = 0, min_nodes = 0;
  TimePoint until;
  std::string cause;
  friend bool operator==(Holding const&, Holding const&) = default;
};
struct Inquiring {  // members of an unknown world have come; their votes are asked for
  Epoch epoch;
  std::uint32_t votes = 0;
  friend bool operator==(Inquiring const&, Inquiring const&) = default;
};
struct Resuming {  // elected; the record that was found is committed again
  Epoch epoch;
  RoundNumber round;
  friend bool operator==(Resuming const&, Resuming const&) = default;
};
struct OpeningStore {
  RoundNumber round;
  std::string host;
  friend bool operator==(OpeningStore const&, OpeningStore const&) = default;
};
struct Preparing {
  RoundNumber round;
  std::uint32_t have = 0, voters = 0;
  friend bool operator==(Preparing const&, Preparing const&) = default;
};
struct WaitingForStop {
  RoundNumber round;
  std::uint32_t left = 0;
  friend bool operator==(WaitingForStop const&, WaitingForStop const&) = default;
};
struct Running {
  RoundNumber round;
  std::uint32_t nodes = 0, world_size = 0, done = 0;
  friend bool operator==(Running const&, Running const&) = default;
};
struct Concluding {
  std::string why;
  friend bool operator==(Concluding const&, Concluding const&) = default;
};
struct Telling {
  std::uint32_t left = 0;
  friend bool operator==(Telling const&, Telling const&) = default;
};
struct HandedOver {  // another host goes on with the job
  std::string why;
  friend bool operator==(HandedOver const&, HandedOver const&) = default;
};
struct Over {
  bool success = false;
  std::string why;
  friend bool operator==(Over const&, Over const&) = default;
};

}  // namespace muster::membership::why

namespace muster::membership {

using Why = std::variant<why::WaitingForNodes, why::LastCall, why::Holding, why::Inquiring,
                         why::Resuming, why::OpeningStore, why::Preparing, why::WaitingForStop,
                         why::Running, why::Concluding, why::Telling, why::HandedOver, why::Over>;

// One sentence without a full stop. Relative to `now` where it speaks of time.
std::string explain(Why const& why, TimePoint now);

// {"state": "last_call", ...} in one line.
std::string to_json(Why const& why, TimePoint now);

}  // namespace muster::membership
