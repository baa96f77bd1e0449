// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/data/loader.hpp"

#include "rendezvous/base/assert.hpp"

#include <exception>
#include <pthread.h>
#include <string>
#include <utility>

namespace muster::worker {

Loader::Loader(DistributedSampler sampler, Fetch fetch, LoaderOptions options)
    : fetch_(std::move(fetch)),
      options_(options),
      state_(sampler.state()),
      sampler_(std::move(sampler)) {
  MUSTER_ASSERT(options_.batch >= 1 && options_.threads >= 1 && options_.ahead >= 1,
                "a loader has a batch size, a thread and room for a batch");
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { fetch_ahead(); });
}

Loader::~Loader() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Result<std::optional<Batch>> Loader::next() {
  if (error_) return *error_;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_.contains(taken_); });  // ended by fetch_ahead()
  auto slot = std::move(ready_.extract(taken_).mapped());
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  if (slot.batch)
    state_ = slot.after;
  else
    error_ = slot.batch.error();
  return std::move(slot.batch);
}

// A thread's life: take the next ticket and its rows, fetch, put the batch into the ticket's slot.
void Loader::fetch_ahead() {
  ::pthread_setname_np(::pthread_self(), "muster-loader");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || drawn_ - taken_ < options_.ahead; });
    if (stopping_) return;
    auto const ticket = drawn_++;
    auto draw =
        options_.together ? sampler_.next_together(options_.batch) : sampler_.next(options_.batch);
    auto const after = sampler_.state();
    lock.unlock();
    auto batch = fetch_one(std::move(draw));
    auto const failed = !batch;
    lock.lock();
    ready_.emplace(ticket, Slot{std::move(batch), after});
    changed_.notify_all();
    if (failed) return;  // the loop stops there, whatever lies behind
  }
}

Result<std::optional<Batch>> Loader::fetch_one(Draw draw) const {
  if (draw.over) return std::optional<Batch>{};
  if (draw.rows.empty()) return std::optional<Batch>(Batch{});
  try {
    auto batch = fetch_(draw.rows);
    if (!batch) return std::move(batch).error();
    batch->rows = std::move(draw.rows);
    batch->padding = draw.padding;
    return std::optional<Batch>(*std::move(batch));
  } catch (std::exception const& failure) {  // the fetch is a user's code: it must not end a thread
    return Error{Errc::internal, std::string("fetching a batch threw: ") + failure.what(), ""};
  } catch (...) {
    return Error{Errc::internal, "fetching a batch threw something that is no exception", ""};
  }
}

}  // namespace muster::worker
