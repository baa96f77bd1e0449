// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/store_client.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/hosted_store.hpp"
#include "tests/unit/net/running_server.hpp"

#include <catch2/catch.hpp>

#include <functional>

using namespace muster;
using namespace muster::net;
using namespace std::chrono_literals;

namespace {

// Hands the task's result to `then`.
template <class T>
asio::awaitable<void> pass_on(asio::awaitable<Result<T>> task,
                              std::function<void(Result<T>)> then) {
  auto result = co_await std::move(task);
  then(std::move(result));
}

template <class T>
void spawn(asio::io_context& io, asio::awaitable<Result<T>> task,
           std::function<void(Result<T>)> then) {
  asio::co_spawn(io, pass_on(std::move(task), std::move(then)),
                 [](std::exception_ptr failure) { REQUIRE_FALSE(failure); });
}

// Runs this thread's context until the condition holds.
template <class F>
void run_until(asio::io_context& io, F condition) {
  io.restart();
  while (!condition()) REQUIRE(io.run_one_for(20s) == 1);
}

template <class T>
Result<T> result_of(asio::io_context& io, asio::awaitable<Result<T>> task) {
  std::optional<Result<T>> result;
  spawn<T>(io, std::move(task), [&](Result<T> value) { result.emplace(std::move(value)); });
  run_until(io, [&] { return result.has_value(); });
  return *std::move(result);
}

template <class T>
T finish(asio::io_context& io, asio::awaitable<Result<T>> task) {
  auto result = result_of(io, std::move(task));
  if (!result) FAIL(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <class T>
Error failure_of(asio::io_context& io, asio::awaitable<Result<T>> task) {
  auto const result = result_of(io, std::move(task));
  REQUIRE_FALSE(result);
  return result.error();
}

struct Connected {
  Connected() : store(*HostedStore::start("127.0.0.1", 0)), client(io) {
    finish(io, client.connect("127.0.0.1", store.port(), soon()));
  }
  HostedStore store;
  asio::io_context io{1};
  StoreClient client;
};

}  // namespace

TEST_CASE("every request of the asynchronous client gets its answer", "[net]") {
  Connected c;
  auto& io = c.io;
  auto& client = c.client;
  finish(io, client.set("k", "v", soon()));
  CHECK(finish(io, client.get("k", soon())) == "v");
  CHECK(finish(io, client.add("n", -2, soon())) == -2);
  CHECK(finish(io, client.compare_set("c", "", "a", soon())) == "a");
  CHECK(finish(io, client.check({"k", "n"}, soon())));
  CHECK_FALSE(finish(io, client.check({"k", "zz"}, soon())));
  finish(io, client.wait({"k", "n"}, soon()));
  finish(io, client.append("k", "w", soon()));
  finish(io, client.multi_set({"x", "y"}, {"1", ""}, soon()));
  CHECK(finish(io, client.multi_get({"k", "x", "y"}, soon())) ==
        std::vector<std::string>{"vw", "1", ""});
  CHECK(finish(io, client.num_keys(soon())) == 5);
  CHECK(finish(io, client.list_keys(soon())).size() == 5);
  CHECK(finish(io, client.delete_key("x", soon())));
  finish(io, client.queue_push("q", "1", soon()));
  CHECK(finish(io, client.queue_len("q", soon())) == 1);
  CHECK(finish(io, client.queue_pop("q", soon())) == "1");
  finish(io, client.barrier("b", 1, soon()));
}

TEST_CASE("requests that overlap are pipelined and each gets its own reply", "[net]") {
  Connected c;
  constexpr int kCalls = 200;
  std::vector<std::int64_t> sums;
  for (int i = 0; i < kCalls; ++i)
    spawn<std::int64_t>(c.io, c.client.add("n", 1, soon()), [&](Result<std::int64_t> sum) {
      REQUIRE(sum);
      sums.push_back(*sum);
    });
  run_until(c.io, [&] { return sums.size() == kCalls; });
  for (int i = 0; i < kCalls; ++i) CHECK(sums[static_cast<std::size_t>(i)] == i + 1);
}

TEST_CASE("a request behind a wait is answered after it", "[net]") {
  Connected c;
  StoreClient other(c.io);
  finish(c.io, other.connect("127.0.0.1", c.store.port(), soon()));
  std::vector<std::string> order;
  spawn<void>(c.io, c.client.wait({"late"}, soon()),
              [&](Result<void> done) { order.push_back(done ? "wait" : "failed"); });
  spawn<std::int64_t>(c.io, c.client.add("n", 1, soon()),
                      [&](Result<std::int64_t> done) { order.push_back(done ? "add" : "failed"); });
  finish(c.io, other.set("late", "", soon()));
  run_until(c.io, [&] { return order.size() == 2; });
  CHECK(order == std::vector<std::string>{"wait", "add"});
}

TEST_CASE("an asynchronous wait that times out names the keys; the connection stays usable",
          "[net]") {
  Connected c;
  finish(c.io, c.client.set("there", "", soon()));
  auto const error = failure_of(c.io, c.client.wait({"there", "never"}, deadline_in(20ms)));
  CHECK(error.code == Errc::timeout);
  CHECK_THAT(error.what, Catch::Contains("missing: 'never'"));
  CHECK(finish(c.io, c.client.add("n", 1, soon())) == 1);
}

TEST_CASE("a request that never got its turn times out alone", "[net]") {
  Connected c;
  bool waiting = true;
  spawn<void>(c.io, c.client.wait({"never"}, soon()), [&](Result<void>) { waiting = false; });
  auto const error = failure_of(c.io, c.client.add("n", 1, deadline_in(20ms)));
  CHECK(error.code == Errc::timeout);
  CHECK(waiting);
  c.client.close();
  run_until(c.io, [&] { return !waiting; });
}

TEST_CASE("a server that does not answer costs a request its deadline, and the connection",
          "[net]") {
  asio::io_context io(1);
  auto mute = listen_on(io, "127.0.0.1", 0);  // the kernel accepts, nobody reads
  REQUIRE(mute);
  StoreClient client(io);
  finish(io, client.connect("127.0.0.1", mute->local_endpoint().port(), soon()));
  auto const error = failure_of(io, client.add("n", 1, deadline_in(20ms)));
  CHECK(error.code == Errc::timeout);
  CHECK_THAT(error.what, Catch::Contains("no answer to add"));
  CHECK(failure_of(io, client.num_keys(soon())).code == Errc::timeout);
}

TEST_CASE("a refused connection and an unknown host are told apart", "[net]") {
  asio::io_context io(1);
  std::uint16_t port = 0;
  { port = listen_on(io, "127.0.0.1", 0)->local_endpoint().port(); }
  StoreClient client(io);
  CHECK(failure_of(io, client.connect("127.0.0.1", port, soon())).code == Errc::unreachable);
}

TEST_CASE("a server that goes away ends what is pending", "[net]") {
  asio::io_context io(1);
  StoreClient client(io);
  std::optional<Error> error;
  {
    RunningServer running;
    finish(io, client.connect("127.0.0.1", running.port, soon()));
    CHECK(finish(io, client.add("n", 1, soon())) == 1);
    spawn<void>(io, client.wait({"never"}, soon()),
                [&](Result<void> done) { error = done.error(); });
    io.restart();
    io.poll();
    running.on_thread([&] { running.server->stop(); });
  }
  run_until(io, [&] { return error.has_value(); });
  CHECK(error->code == Errc::closed);
}
