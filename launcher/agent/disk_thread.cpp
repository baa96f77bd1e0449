// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/disk_thread.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;

// Threads that wait for a disk that may never answer. Nobody can join them; each shares its body,
// and ends with the process.
std::deque<std::thread>& abandoned() {
  static auto* const threads = new std::deque<std::thread>;
  return *threads;
}

}  // namespace

// Who waits for an answer: the control thread's own.
struct DiskThread::Desk {
  struct Question {
    std::function<void(bool)> done;
    asio::steady_timer deadline;
  };
  std::map<std::uint64_t, Question> open;

  void answer(std::uint64_t id, bool in_time) {
    auto const found = open.find(id);
    if (found == open.end()) return;  // it was late
    auto const done = std::move(found->second.done);
    open.erase(found);
    done(in_time);
  }
};

// What both threads share.
struct DiskThread::Body {
  struct Job {
    std::function<void()> work;
    std::function<void()> ended;  // posts the answer; not called after the end
  };

  std::mutex mutex;
  std::condition_variable news;
  std::deque<Job> queue;
  bool ending = false, idle = true;
  std::thread thread;

  void serve();
};

void DiskThread::Body::serve() {
  std::unique_lock lock(mutex);
  for (;;) {
    idle = queue.empty();
    news.wait(lock, [this] { return ending || !queue.empty(); });
    if (ending) break;
    idle = false;
    auto const job = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    job.work();
    lock.lock();
    if (!ending) job.ended();
  }
}

bool run_within(Duration patience, std::function<void()> work) {
  struct End {
    std::mutex mutex;
    std::condition_variable news;
    bool reached = false;
  };
  auto const end = std::make_shared<End>();
  std::thread thread([end, work = std::move(work)] {
    work();
    std::lock_guard const lock(end->mutex);
    end->reached = true;
    end->news.notify_one();
  });
  std::unique_lock lock(end->mutex);
  bool const reached = end->news.wait_for(lock, patience, [&] { return end->reached; });
  lock.unlock();
  if (reached)
    thread.join();
  else
    abandoned().push_back(std::move(thread));
  return reached;
}

DiskThread::DiskThread(asio::io_context& io)
    : io_(io), desk_(std::make_shared<Desk>()), body_(std::make_shared<Body>()) {}

DiskThread::~DiskThread() {
  std::unique_lock lock(body_->mutex);
  body_->ending = true;
  body_->queue.clear();
  body_->news.notify_all();
  if (!body_->thread.joinable()) return;
  auto thread = std::move(body_->thread);
  if (!body_->idle) {
    abandoned().push_back(std::move(thread));
    return;
  }
  lock.unlock();
  thread.join();
}

void DiskThread::run(std::function<void()> work, std::function<void(bool)> done,
                     Duration patience) {
  auto const id = ++last_id_;
  auto const weak = std::weak_ptr(desk_);
  auto const answer = [weak, id](bool in_time) {
    if (auto const desk = weak.lock()) desk->answer(id, in_time);
  };
  auto const put =
      desk_->open.emplace(id, Desk::Question{std::move(done), asio::steady_timer(io_, patience)});
  put.first->second.deadline.async_wait([answer](net::error_code failure) {
    if (!failure) answer(false);
  });
  std::lock_guard const lock(body_->mutex);
  body_->queue.push_back(
      {std::move(work), [&io = io_, answer] { asio::post(io, [answer] { answer(true); }); }});
  body_->news.notify_one();
  if (!body_->thread.joinable()) body_->thread = std::thread([body = body_] { body->serve(); });
}

}  // namespace muster::launch
