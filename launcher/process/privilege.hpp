// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the agent takes for itself, where the system allows it, so that a crowded machine does not
// cost this node its lease: file descriptors, priority, memory that is not paged out, a low OOM
// score. No worker has any of it: process/spawn gives back what was found, and the OOM score, which
// a worker could not change before it executes, is lent out while workers start. Control thread
// only.

#include <optional>

namespace muster::launch {

class Privilege {
 public:
  // As many files as the hard limit allows: a host has a connection to every agent.
  void take_files();
  // Only for this thread, and threads that it starts.
  void take_priority();

  // While workers that have not executed share our memory, they share our score, too.
  void before_start();
  // All of them have executed. Lowers the score; at the first time also locks the memory, page by
  // page as it is touched (locking all of it at once costs 20 MB).
  void after_start();

 private:
  std::optional<int> found_score_;  // set while ours is lowered
  bool tried_memory_ = false;
};

}  // namespace muster::launch
