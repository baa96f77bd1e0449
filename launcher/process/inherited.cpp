// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/inherited.hpp"

#include <initializer_list>

namespace muster::launch {
namespace {

InheritedLimits read_limits() {
  InheritedLimits found;
  ::getrlimit(RLIMIT_NOFILE, &found.files);
  ::getrlimit(RLIMIT_MEMLOCK, &found.locked_memory);
  found.nice = ::getpriority(PRIO_PROCESS, 0);
  return found;
}

}  // namespace

Inherited take_over_start_state() {
  Inherited found;
  found.limits = read_limits();
  sigemptyset(&found.ignored);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0) continue;  // the C library's own two
    if (action.sa_handler == SIG_IGN) sigaddset(&found.ignored, signal);
  }
  found.child_ignored = found.is_ignored(SIGCHLD);
  if (found.child_ignored) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
  sigset_t block;
  sigfillset(&block);
  // A fault of our own must end us at once, with a core, whoever reads signals.
  for (int const fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
    sigdelset(&block, fault);
  for (int signal = 1; signal < NSIG; ++signal)
    if (signal != SIGCHLD && signal != SIGPIPE && found.is_ignored(signal))
      sigdelset(&block, signal);
  ::sigprocmask(SIG_SETMASK, &block, &found.mask);
  return found;
}

}  // namespace muster::launch
