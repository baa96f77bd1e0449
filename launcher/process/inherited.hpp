// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state in which muster itself was started, as far as it changes it for itself, so that workers
// start in the same one: signals, limits, priority. Read once, before anything is changed; plain
// values after that. The OOM score is process/privilege's.

#include <csignal>
#include <optional>
#include <sys/resource.h>

namespace muster::launch {

struct InheritedLimits {
  rlimit files{}, locked_memory{};
  int nice = 0;
};

struct Inherited {
  sigset_t mask{};             // blocked signals
  sigset_t ignored{};          // signals whose disposition was SIG_IGN (nohup's SIGHUP)
  bool child_ignored = false;  // SIGCHLD was SIG_IGN: changed by us, given back to workers
  std::optional<InheritedLimits> limits;  // unset: nothing of it was changed
  bool is_ignored(int signal) const { return sigismember(&ignored, signal) == 1; }
};

// Reads the state, resets SIGCHLD to its default (an ignored SIGCHLD reaps children behind our
// back) and blocks every signal that was not ignored: guardian and agent read them from a signalfd.
Inherited take_over_start_state();

}  // namespace muster::launch
