// SPDX-License-Identifier: Apache-2.0
#pragma once
// torchrun's shared rendezvous state as a value, and its bytes: base64 of a pickle of
// torch.distributed.elastic.rendezvous.dynamic_rendezvous._RendezvousState, under the one key that
// all agents of a run compare and set. What is compared are bytes as read, never encoded again.

#include "rendezvous/base/result.hpp"
#include "rendezvous/torchrun/pickle_value.hpp"

#include <compare>
#include <map>
#include <optional>
#include <set>

namespace muster::torchrun {

// One agent. In torchrun's order, which is also that of ranks: by address (code points), process,
// id.
struct NodeDesc {
  std::string addr;  // host name, or --local-addr
  std::int64_t pid = 0;
  std::int64_t local_id = 0;  // a count within the process; kMusterId for muster's agents

  friend auto operator<=>(NodeDesc const&, NodeDesc const&) = default;
};

// By it muster's agents know each other: torchrun counts its handlers from 0.
inline constexpr std::int64_t kMusterId = 0x6d757374;  // "must"

// A time in Python's resolution. Releases before 2.6 write it without a zone, and cannot compare
// the two forms: what is written follows what was found.
struct PythonTime {
  std::int64_t utc_us = 0;  // since 1970
  bool aware = true;        // has a zone

  friend bool operator==(PythonTime const&, PythonTime const&) = default;
};

struct RoundState {
  std::int64_t round = 0;
  bool complete = false;
  std::optional<PythonTime> deadline;
  bool closed = false;
  std::map<NodeDesc, std::int64_t> participants;  // to their ranks; 0 until complete
  std::set<NodeDesc> wait_list;
  std::optional<std::set<NodeDesc>> redundancy_list = std::set<NodeDesc>{};  // unset: before 2.3
  std::map<NodeDesc, PythonTime> last_heartbeats;
  // Attributes of newer releases, carried through as they are: name, value, name, value.
  std::vector<pickle::Value> others;

  friend bool operator==(RoundState const&, RoundState const&) = default;
};

// Whether the times in it have a zone: those of a state without any do.
bool writes_aware_times(RoundState const& state);

// "No state yet": what the agent that comes first puts under the key.
inline constexpr std::string_view kNoState = "Y2FuaW1hZGFt";

// The value under the key; nothing for kNoState. Errc::corrupt or Errc::limit, with the reason.
Result<std::optional<RoundState>> decode_state(std::string_view value);
std::string encode_state(RoundState const& state);

// Without the base64.
Result<RoundState> read_state(std::string_view pickled);
std::string write_state(RoundState const& state);

}  // namespace muster::torchrun
