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
#include "rendezvous/base/result.hpp"
#include "rendezvous/net/asio.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <span>

namespace muster::launch {

class WorkerGroup {
 public:
  struct Callbacks {
    std::function<void(int local_rank, ExitStatus status)> on_ended;
    // Everybody is dead and reaped, whoever escaped included; `unclean` processes were not to be
    // killed (state D).
    std::function<void(int unclean)> on_released;
  };

  // `leaf`, which may be null, and `inherited` outlive the group.
  WorkerGroup(net::asio::io_context& io, InheritedSignals const& inherited, CgroupLeaf* leaf,
              Callbacks callbacks);
  ~WorkerGroup();  // what still runs is left to the guardian
  WorkerGroup(WorkerGroup const&) = delete;
  WorkerGroup& operator=(WorkerGroup const&) = delete;

  // Starts all workers, by local rank. After an error some of them may run: kill() follows.
  Result<void> start(std::span<Command const> commands);
  void stop(int signal, Duration grace);
  void kill();
  // To every worker's group, with no further consequence.
  void signal(int number);

  int pid_of(int local_rank) const;

 private:
  struct Member;
  void watch(std::size_t index);
  void step(group::Event const& event);
  void carry_out(group::Effect const& effect);
  void release();

  net::asio::io_context& io_;
  InheritedSignals const& inherited_;
  CgroupLeaf* leaf_;
  Callbacks callbacks_;
  std::deque<Member> members_;
  GroupState state_;
  net::asio::steady_timer timer_;
};

}  // namespace muster::launch
