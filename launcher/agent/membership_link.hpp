// SPDX-License-Identifier: Apache-2.0
#pragma once
// The seam between an agent (workers of one node) and whatever orders the job's membership: in this
// process for one node (local_link), a host over the network for c10d and static (remote_link). All
// calls and callbacks on the control thread. Callbacks are never made from inside a call of the
// agent.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/ids.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/control/codec.hpp"

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
  std::string interface;  // by which this node is reached; "" on one machine, or if unknown
  std::string network;    // the subnet of that interface, "10.77.0.0/24"
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

// The store of a coming round, whose rank 0 is on this node.
struct StoreWish {
  RoundNumber round;
  std::string address;             // to listen on; "" for all
  std::vector<std::string> peers;  // addresses of the round's members, this one's among them
};

struct Outcome {
  bool success = false;
  int exit_code = 0;  // of the cause
  std::string why;    // one sentence: "worker failed and no restart was left", "node b lost"
  std::vector<std::string>
      reports;  // every node's failure report of the last round, the root cause's first
};

// What is to be heard, and where, should this agent die and all its workers with it.
struct LastWords {
  struct Place {
    std::string address;  // numeric
    std::uint16_t port = 0;
    friend bool operator==(Place const&, Place const&) = default;
  };
  std::vector<Place> places;
  control::Letter opening;  // said at once: a listener hangs up on who says nothing
  control::Letter word;     // said by the guardian, once everybody is dead
  friend bool operator==(LastWords const&, LastWords const&) = default;
};

class MembershipListener {
 public:
  virtual ~MembershipListener() = default;
  // Opens a fresh store. The port that it listens on.
  virtual Result<std::uint16_t> open_store(StoreWish const& wish) = 0;
  // That store may be used by these peers, too.
  virtual void admit_to_store(StoreWish const&) {}
  // The round is committed: start its workers. No worker of an older round is alive on any node.
  virtual void on_round(RoundView const& view) = 0;
  // Replaces those given before; comes before on_round. For listeners without a guardian: nothing.
  virtual void on_last_words(LastWords const&) {}
  // Stop the workers of rounds up to `round` and call stopped(round). `grace` zero: SIGKILL at once
  // (fencing).
  virtual void on_stop(RoundNumber round, std::optional<Duration> grace,
                       std::string const& why) = 0;
  // Nobody knows whether the workers may go on: they stand still (SIGSTOP) until on_resume() or
  // on_stop().
  virtual void on_pause() {}
  virtual void on_resume() {}
  // A line for the user: what this node waits for has changed.
  virtual void on_note(std::string const&) {}
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
  // Every worker of rounds <= round is dead and reaped, but for `unclean` that cannot be killed.
  virtual void stopped(RoundNumber round, std::uint32_t unclean) = 0;
  // This agent did not run for silence(), and the guardian ended the round's workers; they are
  // reaped. Not their failure; a link that cannot say so says that this node failed as fenced.
  virtual void workers_fenced(RoundNumber round) {
    workers_failed({round, exit_code_of(Errc::fenced), false, 0, {}});
  }
  // The user asked to end this node's part in the job (a signal). Workers are already stopping;
  // on_outcome follows.
  virtual void leave(int exit_code, std::string why) = 0;
  // An agent that does not run for so long has its workers ended by the guardian, before the other
  // nodes go on without it; zero: nobody minds.
  virtual Duration silence() const = 0;
};

}  // namespace muster::launch
