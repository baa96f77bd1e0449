// SPDX-License-Identifier: Apache-2.0
#pragma once
// The descendants of this process, and the end of them. No heap, no stdio: the guardian uses it,
// too. One thread at a time (the work space is static). Needs PR_SET_CHILD_SUBREAPER, so that
// nobody escapes by losing their parent.

#include "rendezvous/base/clock.hpp"

#include <cstddef>
#include <sys/types.h>

namespace muster::launch {

struct TreeEnd {
  int killed = 0;
  bool complete = true;  // false: somebody was still there at the end of the patience (state D)
};

// SIGSTOP for the whole tree (a stopped process can neither fork nor reap), then SIGKILL from the
// leaves up, through pidfds, until waitid() says that there is no child left. Reaps everybody.
TreeEnd end_descendants(Duration patience);

// The same for what is below process `root`, which must be a subreaper and is not touched, though
// it may be stopped; it finds zombies. Whoever it starts meanwhile is ended, too.
TreeEnd end_below(pid_t root, Duration patience);

// The children of process `pid`, of all its threads. Returns how many were stored.
std::size_t list_children(pid_t pid, pid_t* out, std::size_t capacity);

// Whether this process has a child at all, dead or alive: one system call.
bool has_children();

}  // namespace muster::launch
