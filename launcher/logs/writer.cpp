// SPDX-License-Identifier: Apache-2.0
#include "launcher/logs/writer.hpp"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace muster::launch {

struct Writer::Body {
  struct Chunk {
    SinkPointer sink;
    std::string bytes;
  };

  std::mutex mutex;
  std::condition_variable work, room;
  std::deque<Chunk> queue;
  std::size_t queued_bytes = 0;  // that which the thread is writing included
  std::size_t written_chunks = 0;
  std::size_t capacity = 0;
  bool ending = false;
  bool ended = false;
  bool refused = false;   // an offer, and nobody was told of room since
  bool given_up = false;  // who made the writer may be gone
  Failed failed;
  Room has_room;
  std::thread thread;

  void push(SinkPointer const& sink, std::string bytes, std::shared_ptr<Body> const& self);
  void run();
};

namespace {

// All of it, or the first error.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const done = ::write(fd, bytes.data(), bytes.size());
    if (done >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN) {  // somebody else made it non-blocking
      pollfd wanted{fd, POLLOUT, 0};
      ::poll(&wanted, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// Threads that block in a write which may never end. Nobody can join them; each shares its body,
// and ends with the process.
std::deque<std::thread>& abandoned() {
  static auto* const threads = new std::deque<std::thread>;
  return *threads;
}

}  // namespace

void Writer::Body::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [this] { return ending || !queue.empty(); });
    if (queue.empty()) break;
    auto chunk = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    int error = 0;
    if (chunk.sink->error_number.load() == 0) error = write_all(chunk.sink->fd, chunk.bytes);
    if (error != 0) chunk.sink->error_number.store(error);
    lock.lock();
    if (error != 0 && failed && !given_up) failed(*chunk.sink, error);
    queued_bytes -= chunk.bytes.size();
    ++written_chunks;
    room.notify_all();
    if (std::exchange(refused, false) && has_room && !given_up) has_room();
  }
  ended = true;
  room.notify_all();
}

// Requires the lock.
void Writer::Body::push(SinkPointer const& sink, std::string bytes,
                        std::shared_ptr<Body> const& self) {
  queued_bytes += bytes.size();
  queue.push_back(Chunk{sink, std::move(bytes)});
  work.notify_one();
  if (!thread.joinable() && !ended) thread = std::thread([self] { self->run(); });
}

Writer::Writer(std::size_t capacity_bytes, Failed failed, Room room)
    : body_(std::make_shared<Body>()) {
  body_->capacity = capacity_bytes;
  body_->failed = std::move(failed);
  body_->has_room = std::move(room);
}

Writer::~Writer() {
  if (finish(Duration::zero())) return;
  std::lock_guard const lock(body_->mutex);
  body_->given_up = true;
  abandoned().push_back(std::move(body_->thread));
}

bool Writer::offer(SinkPointer const& sink, std::string&& bytes, Duration patience) {
  std::unique_lock lock(body_->mutex);
  if (body_->ending) return false;
  // A chunk above the whole capacity may go when nothing else waits.
  auto const fits = [&] {
    return body_->queued_bytes == 0 || body_->queued_bytes + bytes.size() <= body_->capacity;
  };
  if (!body_->room.wait_for(lock, patience, fits)) {
    body_->refused = true;
    return false;
  }
  body_->push(sink, std::move(bytes), body_);
  return true;
}

void Writer::insist(SinkPointer const& sink, std::string bytes) {
  std::unique_lock const lock(body_->mutex);
  if (!body_->ending) body_->push(sink, std::move(bytes), body_);
}

bool Writer::finish(Duration patience) {
  std::unique_lock lock(body_->mutex);
  if (!body_->thread.joinable()) return true;
  body_->ending = true;
  body_->work.notify_one();
  while (!body_->ended) {
    auto const before = body_->written_chunks;
    auto const moved = [&] { return body_->ended || body_->written_chunks != before; };
    if (!body_->room.wait_for(lock, patience, moved)) return false;
  }
  auto thread = std::move(body_->thread);
  lock.unlock();
  thread.join();
  return true;
}

}  // namespace muster::launch
