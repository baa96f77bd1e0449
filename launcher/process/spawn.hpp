// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starts processes: own session, parent-death signal, no descriptor of ours above 2, signals as
// muster found them. All of a round at once: each child runs in our memory, on a small stack of its
// own, until it executes, so starting costs the same however big muster is, and the kernel builds
// the new programs in parallel. Returns when all have executed or failed. Main thread only: the
// death signal is tied to the thread that started the child.

#include "launcher/process/child.hpp"
#include "launcher/process/command.hpp"
#include "launcher/process/inherited.hpp"
#include "rendezvous/base/result.hpp"

#include <optional>
#include <span>
#include <vector>

namespace muster::launch {

struct Spawned {
  std::vector<Child> children;  // the first ones of the commands; all, if there is no error
  std::optional<Error> error;   // the first failure
  std::size_t failed = 0;       // the command that it is about
};

// Errors name the failing step: not_found (no such program), permission, bad_input (not a program
// for this machine, argument list too long), limit (no more processes or memory), system.
Spawned spawn_all(std::span<Command const> commands, InheritedSignals const& inherited);

// 127 where the program does not exist, 126 where it cannot be run, otherwise the error's own.
int exit_code_of_spawn(Error const& error);

}  // namespace muster::launch
