// SPDX-License-Identifier: Apache-2.0
#pragma once
// One worker process from its start to its reaping: pid, pidfd, own session and group. Move-only.
// The destructor only closes: whoever drops an unreaped child has reported that before.

#include "launcher/process/exit_status.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <optional>
#include <sys/types.h>

namespace muster::launch {

class Child {
 public:
  Child(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }

  // To the whole process group. Safe until reap(): a leader that was not reaped keeps the number.
  void signal_group(int signal) const;
  // How it ended, if it did; it stays a zombie, so that its group can still be signalled.
  std::optional<ExitStatus> peek() const;
  // After peek() told the end: gives the number back. Signals are no longer allowed.
  void reap();
  bool is_reaped() const { return reaped_; }

 private:
  pid_t pid_;
  UniqueFd pidfd_;
  bool reaped_ = false;
};

}  // namespace muster::launch
