// SPDX-License-Identifier: Apache-2.0
#pragma once
// A handle on a submitted collective. Copyable; dropping it neither waits nor cancels. The group
// keeps the tensors alive until the operation ended. All calls from any thread.

#include "rendezvous/base/result.hpp"

#include <functional>
#include <memory>

namespace muster::worker {

class Work {
 public:
  // Completed exactly once by the group that made the Work.
  class State;

  Work() = default;  // done, successful
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // Waits for the end (CPU: blocks; later on GPU: makes the submitted stream wait). The deadline is
  // the operation's own.
  Result<void> wait() const;
  // The host blocks, on both.
  Result<void> block() const;
  bool done() const;
  // Runs when the operation ends, on the thread that made the progress (the group's, or one in
  // wait()), or at once if it has ended. Must not submit or block.
  void then(std::function<void(Result<void> const&)> callback) const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace muster::worker
