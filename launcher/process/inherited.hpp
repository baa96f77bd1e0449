// SPDX-License-Identifier: Apache-2.0
#pragma once
// The signal state in which muster itself was started, so that workers start in the same one.
// Read once, before anything is changed; plain values after that.

#include <csignal>

namespace muster::launch {

struct InheritedSignals {
  sigset_t mask{};             // blocked signals
  sigset_t ignored{};          // signals whose disposition was SIG_IGN (nohup's SIGHUP)
  bool child_ignored = false;  // SIGCHLD was SIG_IGN: changed by us, given back to workers
  bool is_ignored(int signal) const { return sigismember(&ignored, signal) == 1; }
};

// Reads the state, resets SIGCHLD to its default (an ignored SIGCHLD reaps children behind our
// back) and blocks every signal that was not ignored: guardian and agent read them from a signalfd.
InheritedSignals take_over_signals();

}  // namespace muster::launch
