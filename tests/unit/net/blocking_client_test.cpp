// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/blocking_client.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/net/hosted_store.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace muster;
using namespace std::chrono_literals;

namespace {

net::HostedStore store() {
  auto started = net::HostedStore::start("127.0.0.1", 0);
  REQUIRE(started);
  return *std::move(started);
}

net::BlockingClient client_of(net::HostedStore const& server) {
  auto client = net::BlockingClient::connect("127.0.0.1", server.port(), deadline_in(20s));
  REQUIRE(client);
  return *std::move(client);
}

Deadline soon() {
  return deadline_in(20s);
}

template <class T>
T value_of(Result<T> result) {
  if (!result) FAIL(to_string(result.error()));
  return *std::move(result);
}

}  // namespace

TEST_CASE("every request of the blocking client gets its answer", "[net]") {
  auto const server = store();
  auto client = client_of(server);
  REQUIRE(client.set("k", "v", soon()));
  CHECK(value_of(client.get("k", soon())) == "v");
  CHECK(value_of(client.add("n", 5, soon())) == 5);
  CHECK(value_of(client.add("n", -7, soon())) == -2);
  CHECK(value_of(client.compare_set("c", "", "a", soon())) == "a");
  CHECK(value_of(client.compare_set("c", "b", "d", soon())) == "a");
  CHECK(value_of(client.compare_set("c", "a", "d", soon())) == "d");
  std::vector<std::string> const there{"k", "n"}, some{"k", "zz"};
  CHECK(value_of(client.check(there, soon())));
  CHECK_FALSE(value_of(client.check(some, soon())));
  REQUIRE(client.append("k", "w", soon()));
  CHECK(value_of(client.multi_get(there, soon())) == std::vector<std::string>{"vw", "-2"});
  REQUIRE(client.multi_set(some, std::vector<std::string>{"1", ""}, soon()));
  CHECK(value_of(client.get("zz", soon())).empty());
  CHECK(value_of(client.num_keys(soon())) == 4);
  CHECK(value_of(client.list_keys(soon())).size() == 4);
  CHECK(value_of(client.delete_key("zz", soon())));
  CHECK_FALSE(value_of(client.delete_key("zz", soon())));
  REQUIRE(client.queue_push("q", "1", soon()));
  REQUIRE(client.queue_push("q", "2", soon()));
  CHECK(value_of(client.queue_len("q", soon())) == 2);
  CHECK(value_of(client.queue_pop("q", soon())) == "1");
  REQUIRE(client.barrier("b", 1, soon()));
  CHECK(client.local_address() == "127.0.0.1");
}

TEST_CASE("a wait that times out names the missing keys and leaves the connection usable",
          "[net]") {
  auto const server = store();
  auto client = client_of(server);
  REQUIRE(client.set("there", "1", soon()));
  std::vector<std::string> const keys{"there", "never", "nowhere"};
  auto const waited = client.wait(keys, deadline_in(30ms));
  REQUIRE_FALSE(waited);
  CHECK(waited.error().code == Errc::timeout);
  CHECK_THAT(waited.error().what, Catch::Contains("'never', 'nowhere'"));
  CHECK_THAT(waited.error().what, !Catch::Contains("'there'"));
  CHECK(value_of(client.get("there", soon())) == "1");
}

TEST_CASE("a barrier that times out says how many arrived", "[net]") {
  auto const server = store();
  auto client = client_of(server);
  auto const passed = client.barrier("gate", 3, deadline_in(30ms));
  REQUIRE_FALSE(passed);
  CHECK_THAT(passed.error().what, Catch::Contains("1 of 3"));
  CHECK(value_of(client.add("n", 1, soon())) == 1);
}

TEST_CASE("one client's set ends another's wait", "[net]") {
  auto const server = store();
  auto waiter = client_of(server);
  std::string got;
  std::thread thread([&] { got = waiter.get("late", soon()).value_or("failed"); });
  auto setter = client_of(server);
  REQUIRE(setter.set("late", "value", soon()));
  thread.join();
  CHECK(got == "value");
}

TEST_CASE("values of many megabytes pass both ways", "[net]") {
  auto const server = store();
  auto client = client_of(server);
  std::string const big(8u << 20, 'x');
  REQUIRE(client.set("big", big, soon()));
  CHECK(value_of(client.get("big", soon())) == big);
}

TEST_CASE("a server that is not there is reported by its name before long", "[net]") {
  std::uint16_t port = 0;
  { port = store().port(); }
  auto const client = net::BlockingClient::connect("127.0.0.1", port, deadline_in(50ms));
  REQUIRE_FALSE(client);
  CHECK(client.error().code == Errc::timeout);
  CHECK_THAT(client.error().what, Catch::Contains("127.0.0.1:" + std::to_string(port)));
}

TEST_CASE("a client whose server went away says so", "[net]") {
  auto server = std::make_unique<net::HostedStore>(store());
  auto client = client_of(*server);
  REQUIRE(client.set("k", "v", soon()));
  REQUIRE(client.get("k", soon()));
  server.reset();
  auto const got = client.get("k", soon());
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Errc::closed);
  CHECK_THAT(client.get("k", soon()).error().hint, Catch::Contains("connect again"));
}
