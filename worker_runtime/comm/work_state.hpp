// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared end of a Work: completed once by the group's progress thread, read by anybody. For
// groups only.

#include "worker_runtime/comm/work.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace muster::worker {

// Whoever waits can do the group's work meanwhile: that saves two changes of threads.
class Progress {
 public:
  virtual ~Progress() = default;
  // Makes progress on this thread until the state is done, unless another thread is at it.
  virtual void help(Work::State const& state) = 0;
};

class Work::State {
 public:
  State() = default;
  explicit State(std::weak_ptr<Progress> progress) : progress_(std::move(progress)) {}

  // The first call decides. Callbacks run here, before waiters wake, so that these see their
  // effects.
  void complete(Result<void> result);

  Result<void> wait();
  bool done() const { return done_.load(std::memory_order_acquire); }
  void then(std::function<void(Result<void> const&)> callback);

 private:
  std::weak_ptr<Progress> progress_;  // never changes
  std::mutex mutex_;
  std::condition_variable ended_;
  std::atomic<bool> done_{false};
  bool completing_ = false;  // guarded by mutex_
  Result<void> result_;      // written once under mutex_, before done_
  std::vector<std::function<void(Result<void> const&)>> callbacks_;  // guarded by mutex_
};

// A Work that has already failed.
Work failed_work(Error error);

}  // namespace muster::worker
