// SPDX-License-Identifier: Apache-2.0
#pragma once
// The worker processes of one round on this node: started, watched by pidfd, stopped and reaped as
// process/group_step decides. Control thread only. Callbacks come from the io_context or from
// inside stop() and kill(); they must not destroy the group.

#include "launcher/process/cgroup_leaf.hpp"
#include "launcher/process/child.hpp"
#include "launcher/process/command.hpp"
#include "launcher/process/group_step.hpp"
#include "launcher/process/inherited.hpp"
#include "launcher/process/spawn.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/net/asio.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace muster::launch {

// How long a program may take to be loaded.
inline constexpr Duration kExecPatience = std::chrono::seconds{20};

class WorkerGroup {
 public:
  struct Callbacks {
    // Every worker executes its program, or the error why one does not: then some of them may run,
    // and kill() follows. Comes before any end.
    std::function<void(Result<void>)> on_started;
    std::function<void(int local_rank, ExitStatus status)> on_ended;
    // Everybody is dead and reaped, whoever escaped included; `unclean` processes were not to be
    // killed (state D).
    std::function<void(int unclean)> on_released;
  };

  // `leaf`, which may be null, and `inherited` outlive the group.
  WorkerGroup(net::asio::io_context& io, Inherited const& inherited, CgroupLeaf* leaf,
              Callbacks callbacks);
  ~WorkerGroup();  // what still runs is left to the guardian
  WorkerGroup(WorkerGroup const&) = delete;
  WorkerGroup& operator=(WorkerGroup const&) = delete;

  // Starts all workers, by local rank; on_started follows, at the latest after `patience`. Once,
  // and not after a stop: then nothing is started, and nothing follows.
  void start(std::vector<Command> commands, Duration patience = kExecPatience);
  void stop(int signal, Duration grace);
  void kill();
  // To every worker's group, with no further consequence.
  void signal(int number);

  int pid_of(int local_rank) const;

 private:
  struct Member;
  void await_start();
  void settle_start();
  void stop_waiting_for_start();
  void watch(std::size_t index);
  void look_at(std::size_t index);
  void step(group::Event const& event);
  void carry_out(group::Effect const& effect);
  void release();

  net::asio::io_context& io_;
  Inherited const& inherited_;
  CgroupLeaf* leaf_;
  Callbacks callbacks_;
  std::optional<Spawning> spawning_;  // until it is settled, no end is told
  bool settled_ = false;
  Duration exec_patience_{};
  net::asio::posix::stream_descriptor report_;
  net::asio::steady_timer exec_timer_;
  std::deque<Member> members_;
  GroupState state_;
  net::asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::launch
