// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/eager_run.hpp"

#include <catch2/catch.hpp>

#include <functional>

using namespace muster::net;

TEST_CASE("an eager run carries out all that is there and ends with the work", "[net]") {
  asio::io_context io(1);
  int left = 1000;
  std::function<void()> again = [&] {
    if (--left > 0) asio::post(io, again);
  };
  asio::post(io, again);
  asio::steady_timer timer(io, std::chrono::milliseconds(2));
  bool fired = false;
  timer.async_wait([&](error_code const&) { fired = true; });
  run_eagerly(io);
  CHECK(left == 0);
  CHECK(fired);
}

TEST_CASE("an eager run ends when its context is stopped", "[net]") {
  asio::io_context io(1);
  auto const work = asio::executor_work_guard<asio::io_context::executor_type>(io.get_executor());
  asio::post(io, [&] { io.stop(); });
  run_eagerly(io);
  CHECK(io.stopped());
}
