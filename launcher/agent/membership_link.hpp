// SPDX-License-Identifier: Apache-2.0
#pragma once
// The seam between an agent (workers of one node) and whatever orders the job's membership: in this
// process for one node (local_link), a host over the network for c10d and static (remote_link). All
// calls and callbacks on the control thread. Callbacks are never made from inside a call of the
// agent.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/ids.hpp"
#include "rendezvous/base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster::launch {

// What one agent needs to start its workers: its row of the committed record, the totals and the
// master.
struct RoundView {
  RoundNumber round;
  std::uint32_t restart_count = 0;  // worker failures so far, job-wide: TORCHELASTIC_RESTART_COUNT
  std::uint32_t repeat = 0;  // further rounds with the same restart_count: attempt_<count>.<repeat>
  int group_rank = 0, group_world_size = 1;
  int rank_base = 0,
      world_size = 1;  // global ranks of this node: rank_base .. rank_base + local size - 1
  int role_rank_base = 0, role_world_size = 1;
  std::string master_addr;
  std::uint16_t master_port = 0;
  std::vector<std::string> hosts;  // host name per group rank, for reports; empty if too many

  friend bool operator==(RoundView const&, RoundView const&) = default;
};

// How this node's workers of a round ended by themselves.
struct WorkerFailure {
  RoundNumber round;
  int exit_code = 1;            // the process's own code, or 128 + signal
  bool is_consequence = false;  // exit code 89 (peer_lost), or killed by us
  std::int64_t at_ns = 0;       // CLOCK_BOOTTIME of the first failing worker's end
  std::string report;  // JSON of diagnose/failure_report: one entry per failed worker of this node
};

struct Outcome {
  bool success = false;
  int exit_code = 0;  // of the cause
  std::string why;    // one sentence: "worker failed and no restart was left", "node b lost"
  std::vector<std::string>
      reports;  // every node's failure report of the last round, the root cause's first
};

class MembershipListener {
 public:
  virtual ~MembershipListener() = default;
  // Opens a fresh store for a coming round (this node is its rank 0). The port that it listens on.
  virtual Result<std::uint16_t> open_store(RoundNumber round) = 0;
  // The round is committed: start its workers. No worker of an older round is alive on any node.
  virtual void on_round(RoundView const& view) = 0;
  // Stop the workers of rounds up to `round` and call stopped(round). `grace` zero: SIGKILL at once
  // (fencing).
  virtual void on_stop(RoundNumber round, std::optional<Duration> grace,
                       std::string const& why) = 0;
  // The job is over, here and everywhere. The link is closed after this.
  virtual void on_outcome(Outcome const& outcome) = 0;
  // This agent cannot take part (refused, timed out, host unreachable). The link is closed after
  // this.
  virtual void on_error(Error const& error) = 0;
};

class MembershipLink {
 public:
  virtual ~MembershipLink() = default;
  virtual void join(MembershipListener& listener) = 0;  // once
  virtual void workers_failed(
      WorkerFailure failure) = 0;                    // the first failure of a round on this node
  virtual void workers_done(RoundNumber round) = 0;  // all exited 0
  virtual void stopped(
      RoundNumber round) = 0;  // every worker of rounds <= round is dead and reaped
  // The user asked to end the job (a signal). Workers are already stopping; on_outcome follows.
  virtual void leave(int exit_code, std::string why) = 0;
};

}  // namespace muster::launch
