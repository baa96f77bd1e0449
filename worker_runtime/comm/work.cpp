// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/work_state.hpp"

#include <utility>

namespace muster::worker {

void Work::State::complete(Result<void> result) {
  std::unique_lock lock(mutex_);
  if (completing_) return;
  completing_ = true;
  result_ = std::move(result);
  while (!callbacks_.empty()) {
    auto callbacks = std::exchange(callbacks_, {});
    lock.unlock();
    for (auto const& callback : callbacks) callback(result_);
    lock.lock();
  }
  done_.store(true, std::memory_order_release);
  ended_.notify_all();
}

Result<void> Work::State::wait() {
  if (!done()) {
    if (auto const progress = progress_.lock()) progress->help(*this);
    // The group completes every operation by its deadline.
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done(); });
  }
  return result_;
}

void Work::State::then(std::function<void(Result<void> const&)> callback) {
  {
    std::lock_guard const lock(mutex_);
    if (!done()) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback(result_);
}

Result<void> Work::wait() const {
  return state_ ? state_->wait() : ok();
}

Result<void> Work::block() const {
  return wait();
}

bool Work::done() const {
  return !state_ || state_->done();
}

void Work::then(std::function<void(Result<void> const&)> callback) const {
  if (state_)
    state_->then(std::move(callback));
  else
    callback(ok());
}

Work failed_work(Error error) {
  auto state = std::make_shared<Work::State>();
  state->complete(std::move(error));
  return Work(std::move(state));
}

}  // namespace muster::worker
