// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread for whatever may wait for a disk: making folders, opening and reading files. A file
// server that does not answer then costs time here, and no lease: the control thread gives up at a
// deadline. Called on the control thread.

#include "rendezvous/base/clock.hpp"
#include "rendezvous/net/asio.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace muster::launch {

class DiskThread {
 public:
  explicit DiskThread(net::asio::io_context& io);
  // What has not begun is dropped, and no `done` is called any more. A thread that hangs is left
  // where it is, for the process to take along: so `work` owns all that it touches.
  ~DiskThread();
  DiskThread(DiskThread const&) = delete;
  DiskThread& operator=(DiskThread const&) = delete;

  // `work` runs on the thread, after what was given before; then `done` on the io_context, once:
  // with true when work has ended, with false at the deadline; work may then still be under way.
  void run(std::function<void()> work, std::function<void(bool in_time)> done, Duration patience);

 private:
  struct Desk;
  struct Body;

  net::asio::io_context& io_;
  std::shared_ptr<Desk> desk_;
  std::shared_ptr<Body> body_;
  std::uint64_t last_id_ = 0;
};

// For the end, when no loop runs any more: waits for `work`, on a thread of its own, up to
// `patience`. False: it may still be under way, so it owns all that it touches.
bool run_within(Duration patience, std::function<void()> work);

}  // namespace muster::launch
