// SPDX-License-Identifier: Apache-2.0
#pragma once
// N ranks as threads of the test: each runs the body with a session of its own. Catch2's assertions
// are not for threads, so bodies return what is to be checked.

#include "worker_runtime/comm/session.hpp"

#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace muster::test {

// What each rank's body returned, by rank.
template <class Body>
auto on_ranks(int size, Body body) {
  using Answer = std::invoke_result_t<Body, worker::Session&>;
  auto sessions = worker::Session::threads(size);
  std::vector<std::optional<Answer>> answers(sessions.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < sessions.size(); ++rank)
    threads.emplace_back([&, rank] { answers[rank].emplace(body(sessions[rank])); });
  for (auto& thread : threads) thread.join();
  std::vector<Answer> all;
  for (auto& answer : answers) all.push_back(*std::move(answer));
  return all;
}

}  // namespace muster::test
