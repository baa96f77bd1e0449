// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/work_state.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace muster;
using namespace muster::worker;

TEST_CASE("an empty Work is done and successful") {
  Work const work;
  CHECK(work.done());
  CHECK(work.wait().has_value());
  bool called = false;
  work.then([&](Result<void> const& result) { called = result.has_value(); });
  CHECK(called);
}

TEST_CASE("waiters see the effects of callbacks, and the first completion decides") {
  auto const state = std::make_shared<Work::State>();
  Work const work(state);
  int value = 0;
  work.then([&](Result<void> const& result) { value = result ? 1 : 2; });
  CHECK(!work.done());
  std::thread completer([&] {
    state->complete(ok());
    state->complete(Error{Errc::timeout, "too late", {}});
  });
  CHECK(work.wait().has_value());
  CHECK(value == 1);
  completer.join();
  CHECK(work.block().has_value());
  work.then([&](Result<void> const& result) { value = result ? 3 : 4; });
  CHECK(value == 3);
}

TEST_CASE("a failed Work tells its error to all who ask") {
  auto const work = failed_work(Error{Errc::bad_input, "no", {}});
  CHECK(work.done());
  CHECK(work.wait().error().what == "no");
}
