// SPDX-License-Identifier: Apache-2.0
#pragma once
// clone3(2) into our own memory, on a stack of the child's own, and into a cgroup: what clone(2)
// cannot do, and what the C library has no function for. Moving a process into a cgroup after its
// birth costs 2 ms (the kernel waits for all processors); being born there costs nothing.

#include <cstddef>
#include <sys/types.h>

namespace muster::launch {

// What the child runs; it must not return.
using ChildMain = int (*)(void*);

struct StartClone {
  ChildMain main = nullptr;
  void* argument = nullptr;
  char* stack = nullptr;  // lowest address
  std::size_t stack_bytes = 0;
  int cgroup = -1;  // the folder's descriptor, or -1
};

// The child's pid, with its pidfd in `pidfd`; or -1 and errno. Without clone3 (an old kernel, a
// seccomp filter, another processor) or where the cgroup takes no process, the cgroup is left out.
pid_t start_clone(StartClone const& start, int& pidfd);

}  // namespace muster::launch
