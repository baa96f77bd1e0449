// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/eager_run.hpp"

#include "rendezvous/base/now.hpp"

namespace muster::net {
namespace {

// Longer than a client on the same machine or rack takes for its next request, short enough to be
// no load: it is spent at most once per sleep.
constexpr std::chrono::microseconds kLook{50};

// True if events were carried out before the time was up.
bool look(asio::io_context& io) {
  auto const end = now() + kLook;
  do {
    if (io.poll() > 0) return true;
  } while (!io.stopped() && now() < end);
  return false;
}

}  // namespace

void run_eagerly(asio::io_context& io) {
  bool pays = false;
  while (!io.stopped()) {
    if (pays && look(io)) continue;
    auto const asleep = now();
    if (io.run_one() == 0) return;
    pays = now() - asleep < kLook;
    io.poll();
  }
}

}  // namespace muster::net
