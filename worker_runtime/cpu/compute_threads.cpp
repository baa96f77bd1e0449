// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/cpu/compute_threads.hpp"

#include "rendezvous/base/assert.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <thread>
#include <vector>

namespace muster::worker::cpu {
namespace {

// Helpers sleep on a round number that run() raises. A helper's share of the tasks is fixed.
class Team {
 public:
  explicit Team(int size) : size_(size) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
    for (int i = 1; i < size; ++i) helpers_.emplace_back([this, i] { help(i); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Team() {
    task_ = nullptr;
    start_round();
    for (auto& helper : helpers_) helper.join();
  }
  Team(Team const&) = delete;
  Team& operator=(Team const&) = delete;

  int size() const { return size_; }

  void run(int count, std::function<void(int)> const& task) {
    task_ = &task;
    count_ = count;
    busy_.store(size_ - 1, std::memory_order_relaxed);
    start_round();
    work(0);
    for (int busy = busy_.load(std::memory_order_acquire); busy != 0;
         busy = busy_.load(std::memory_order_acquire))
      busy_.wait(busy, std::memory_order_acquire);
  }

 private:
  void start_round() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void work(int helper) {
    for (int i = helper; i < count_; i += size_) (*task_)(i);
  }

  void help(int helper) {
    pthread_setname_np(pthread_self(), "muster-compute");
    for (std::uint32_t seen = 0;; ++seen) {
      round_.wait(seen, std::memory_order_acquire);
      if (task_ == nullptr) return;
      work(helper);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  int const size_;
  std::function<void(int)> const* task_ = nullptr;  // written before round_ is raised
  int count_ = 0;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<int> busy_{0};
  std::vector<std::thread> helpers_;
};

thread_local std::unique_ptr<Team> team;

}  // namespace

void set_compute_threads(int count) {
  MUSTER_ASSERT(count >= 1, "a rank computes on at least one thread");
  if (count == compute_threads()) return;
  team.reset();
  if (count > 1) team = std::make_unique<Team>(count);
}

int compute_threads() {
  return team ? team->size() : 1;
}

void parallel_for(int count, std::function<void(int)> const& task) {
  if (team && count > 1)
    team->run(count, task);
  else
    for (int i = 0; i < count; ++i) task(i);
}

}  // namespace muster::worker::cpu
