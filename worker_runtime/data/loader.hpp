// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batches fetched ahead of the training loop by threads of its own, handed out in the sampler's
// order. The queue is bounded; an error of a fetch reaches the loop in the place of its batch. The
// destructor stops the threads after the fetches that are under way. next() and state(): the loop's
// thread.

#include "rendezvous/base/result.hpp"
#include "worker_runtime/core/tensor.hpp"
#include "worker_runtime/data/sampler.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace muster::worker {

struct Batch {
  Tensor inputs, targets;
  std::vector<std::int64_t> rows;  // global sample ids
  std::int64_t padding = 0;  // the last rows repeat others (Tail::pad): leave them out of scores
};

// Reads the samples `rows`. Called from several threads at once where LoaderOptions says so.
using Fetch = std::function<Result<Batch>(std::span<std::int64_t const> rows)>;

struct LoaderOptions {
  std::int64_t batch = 64;
  int threads = 1;
  int ahead = 4;          // batches fetched and not yet asked for, at most
  bool together = false;  // `batch` is of all ranks together; a rank's part of it may be empty
};

class Loader {
 public:
  // `sampler` and the options must be sensible: batch, threads and ahead at least 1.
  Loader(DistributedSampler sampler, Fetch fetch, LoaderOptions options);
  ~Loader();
  Loader(Loader const&) = delete;
  Loader& operator=(Loader const&) = delete;

  // The next batch; nothing: the epoch is over, and the next call gives the next epoch's first.
  // After an error every call returns it.
  Result<std::optional<Batch>> next();

  // As of the last batch that next() gave, however far the threads are ahead. Save this one.
  SamplerState state() const { return state_; }

 private:
  struct Slot {
    Result<std::optional<Batch>> batch;
    SamplerState after;
  };

  void fetch_ahead();
  Result<std::optional<Batch>> fetch_one(Draw draw) const;

  Fetch const fetch_;
  LoaderOptions const options_;
  SamplerState state_;          // the loop's thread only
  std::optional<Error> error_;  // the loop's thread only

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  DistributedSampler sampler_;
  std::map<std::int64_t, Slot> ready_;  // by ticket
  std::int64_t drawn_ = 0;              // tickets given to threads
  std::int64_t taken_ = 0;              // tickets handed to the loop
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace muster::worker
