// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starts processes: own session, parent-death signal, no descriptor of ours above 2, signals,
// limits and priority as muster found them. All of a round at once: each child runs in our memory,
// on a small stack of its own, until it executes, so starting costs the same however big muster is,
// and the kernel builds the new programs in parallel. Nothing here waits for them: a program on a
// dead file server may take for ever. Main thread only: the death signal is tied to the thread that
// started the child.

#include "launcher/process/child.hpp"
#include "launcher/process/command.hpp"
#include "launcher/process/inherited.hpp"
#include "rendezvous/base/result.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace muster::launch {

// A start under way. Owns what the children read until they have executed; where one has not when
// this is destroyed, that stays for it.
class Spawning {
 public:
  // Clones a child for each command; the descriptors in them are free to be closed then.
  Spawning(std::vector<Command> commands, Inherited const& inherited);
  ~Spawning();
  Spawning(Spawning&&) noexcept;
  Spawning& operator=(Spawning&&) = delete;

  // The first ones of the commands: all, unless cloning failed. Once.
  std::vector<Child> take_children();

  // Readable when a child has failed, and when all have executed or ended. -1: already `finished`.
  int report() const;
  // True when every child has executed or ended; then `error` is final. Never waits.
  bool finished();

  // The failure of the lowest command. It names the failing step: not_found (no such program),
  // permission, bad_input (not a program for this machine, argument list too long), limit (no more
  // processes or memory), system.
  std::optional<Error> const& error() const { return error_; }
  std::size_t failed() const { return failed_; }

 private:
  struct Batch;
  void start_all(Inherited const& inherited, int report);
  void note(std::size_t index, Error error);

  std::unique_ptr<Batch> batch_;
  std::vector<Child> children_;
  UniqueFd report_;
  std::optional<Error> error_;
  std::size_t failed_ = 0;
};

// 127 where the program does not exist, 126 where it cannot be run, otherwise the error's own.
int exit_code_of_spawn(Error const& error);

}  // namespace muster::launch
