// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread that writes queued bytes to descriptors and may block on them as long as it likes: a
// stopped terminal, a pipe that nobody reads, a dead file server. The queue is bounded. The thread
// starts with the first bytes. O_NONBLOCK is never set on a descriptor: it would be set for
// everybody who shares it.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace muster::launch {

// Where bytes go. Shared by those who queue and the thread that writes.
struct Sink {
  explicit Sink(int borrowed) : fd(borrowed) {}
  explicit Sink(UniqueFd file, std::string path = {})
      : fd(file.get()), owned(std::move(file)), name(std::move(path)) {}

  int fd;
  UniqueFd owned;
  std::string name;
  // Set at the first error (EPIPE, EIO, ENOSPC): what comes later is dropped, the job goes on.
  std::atomic<int> error_number{0};
};
using SinkPointer = std::shared_ptr<Sink>;

class Writer {
 public:
  // A sink's first error, told on the writer's thread; must not call this writer.
  using Failed = std::function<void(Sink const&, int error_number)>;

  // There may be room again for what offer() refused; told as Failed.
  using Room = std::function<void()>;

  explicit Writer(std::size_t capacity_bytes, Failed failed = nullptr, Room room = nullptr);
  // A thread that still blocks then is left where it is, for the process to take along.
  ~Writer();
  Writer(Writer const&) = delete;
  Writer& operator=(Writer const&) = delete;

  // Queues `bytes`, waiting for room up to `patience`. False: no room; nothing was queued, and
  // `bytes` is as it was. Any thread.
  bool offer(SinkPointer const& sink, std::string&& bytes, Duration patience);
  // Queues whatever the room: muster's own few lines.
  void insist(SinkPointer const& sink, std::string bytes);

  // Writes what is queued and ends the thread; nothing more is queued. False when nothing moved for
  // `patience`; may be called again then.
  bool finish(Duration patience);

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace muster::launch
