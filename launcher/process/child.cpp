// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/child.hpp"

#include "rendezvous/base/assert.hpp"

#include <csignal>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::launch {
namespace {

constexpr auto kByPidfd = static_cast<idtype_t>(3);  // P_PIDFD, absent from older headers

}  // namespace

void Child::signal_group(int signal) const {
  MUSTER_ASSERT(!reaped_, "the number of a reaped process may belong to a stranger");
  if (::kill(-pid_, signal) == 0) return;
  // Nobody is left in the group; or it has not been made yet, and the child is about to.
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

std::optional<ExitStatus> Child::peek() const {
  siginfo_t found{};
  auto const id = static_cast<id_t>(pidfd_.get());
  if (::waitid(kByPidfd, id, &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == 0)
    return std::nullopt;
  if (found.si_code == CLD_EXITED) return ExitStatus{found.si_status, 0};
  return ExitStatus{0, found.si_status};
}

void Child::reap() {
  if (reaped_) return;
  siginfo_t found{};
  ::waitid(kByPidfd, static_cast<id_t>(pidfd_.get()), &found, WEXITED | WNOHANG);
  reaped_ = true;
}

}  // namespace muster::launch
