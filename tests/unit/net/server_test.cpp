// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/server.hpp"

#include "rendezvous/base/bytes.hpp"
#include "tests/unit/net/running_server.hpp"

#include <sys/socket.h>

using namespace muster;
using namespace muster::net;
using namespace std::chrono_literals;

namespace {

std::string sized(std::string_view value) {
  std::string bytes;
  ByteWriter{bytes}.sized(value);
  return bytes;
}

std::string const kPong = "abcd";
wire::Ping const kPing{0x64636261};

std::string encoded(std::initializer_list<wire::Request> requests) {
  std::string bytes;
  for (auto const& request : requests) wire::encode(request, bytes);
  return bytes;
}

wire::Wait wait_for(std::string const& key, std::string& storage) {
  std::vector<std::string> const keys{key};
  return wire::Wait{wire::encode_list(keys, storage)};
}

// Waits until the server has parked so many waits.
void await_waits(RunningServer& running, std::size_t count) {
  auto const deadline = soon();
  while (true) {
    std::size_t waits = 0;
    running.on_thread([&] { waits = running.server->engine().waiters().waits(); });
    if (waits == count) return;
    REQUIRE_FALSE(deadline.passed(now()));
  }
}

}  // namespace

TEST_CASE("pipelined requests are answered in their order, wherever the stream is cut", "[net]") {
  RunningServer running;
  auto const stream =
      encoded({wire::Validate{}, wire::Ping{0x64636261}, wire::Set{"/k", "v"}, wire::Get{"/k"},
               wire::CompareSet{"/c", "", "x"}, wire::Get{"/missing"}, wire::Ping{0x64636261}});
  auto const replies = kPong + sized("v") + sized("x") + sized("") + kPong;
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    RawClient client(running.port);
    client.send(std::string_view{stream}.substr(0, cut));
    // The first part is surely read before the rest is sent: someone else was served after it.
    auto other = greeted(running.port);
    other.send(kPing);
    CHECK(other.receive(4) == kPong);
    other.send(encoded({wire::DeleteKey{"/c"}}));
    other.receive(8);
    client.send(std::string_view{stream}.substr(cut));
    CHECK(client.receive(replies.size()).size() == replies.size());
    other.send(encoded({wire::DeleteKey{"/c"}}));
    other.receive(8);
  }
  RawClient whole(running.port);
  whole.send(stream);
  CHECK(whole.receive(replies.size()) == replies);
}

TEST_CASE("a connection may greet without PING", "[net]") {
  RunningServer running;
  auto client = greeted(running.port);
  client.send(wire::Add{"init/", 1});
  CHECK(client.receive(8) == std::string("\1\0\0\0\0\0\0\0", 8));
}

TEST_CASE("first bytes of no protocol close the connection, and are counted", "[net]") {
  RunningServer running;
  auto good = greeted(running.port);
  for (auto const* bytes : {"SSH-2.0", "\x01", "POST / HTTP/1.1\r\n\r\n"}) {
    RawClient client(running.port);
    client.send(std::string_view(bytes));
    CHECK(client.receive_all().empty());
  }
  RawClient wrong_magic(running.port);
  wrong_magic.send(wire::Validate{0x12345678});
  CHECK(wrong_magic.receive_all().empty());
  good.send(kPing);
  CHECK(good.receive(4) == kPong);
  running.join();
  CHECK(running.server->counters().unknown_greetings == 4);
  CHECK(running.server->connections() == 1);
}

TEST_CASE("a connection that says nothing in time is closed", "[net]") {
  ServerOptions options;
  options.bounds.lobby.patience = 200ms;
  RunningServer running(std::move(options));
  auto good = greeted(running.port);
  good.send(kPing);
  CHECK(good.receive(4) == kPong);
  RawClient silent(running.port), slow(running.port);
  slow.send(std::string_view("\0\xCE", 2));
  CHECK(silent.receive_all().empty());
  CHECK(slow.receive_all().empty());
  good.send(kPing);
  CHECK(good.receive(4) == kPong);
  running.join();
  CHECK(running.server->counters().late_greetings == 2);
}

TEST_CASE("control and HTTP connections are handed over with the bytes already read", "[net]") {
  std::vector<tcp::socket> taken;
  std::string control, http;
  ServerOptions options;
  options.on_control = [&](tcp::socket socket, std::string bytes) {
    control = bytes;
    asio::write(socket, asio::buffer("welcome", 7));
    taken.push_back(std::move(socket));
  };
  options.on_http = [&](tcp::socket, std::string bytes) { http = bytes; };
  RunningServer running(std::move(options));
  RawClient first(running.port), second(running.port);
  first.send("MUSTER\x01rest");
  CHECK(first.receive(7) == "welcome");
  second.send("GET / HTTP/1.0\r\n\r\n");
  CHECK(second.receive_all().empty());
  running.join();
  CHECK(control == "MUSTER\x01rest");
  CHECK(http == "GET / HTTP/1.0\r\n\r\n");
  CHECK(running.server->connections() == 0);
  taken.clear();
}

TEST_CASE("a protocol that is not served here is refused like an unknown one", "[net]") {
  RunningServer running;
  RawClient client(running.port);
  client.send("MUSTER");
  CHECK(client.receive_all().empty());
}

TEST_CASE("breaking a limit closes that connection only", "[net]") {
  RunningServer running;
  auto good = greeted(running.port), bad = greeted(running.port);
  std::string const long_key(9'000, 'k');
  bad.send(encoded({kPing, wire::Get{long_key}, kPing}));
  CHECK(bad.receive_all().size() <= 4);
  good.send(kPing);
  CHECK(good.receive(4) == kPong);
  running.join();
  CHECK(running.server->counters().violations == 1);
}

TEST_CASE("one client's request ends the wait of others, in the order of their waits", "[net]") {
  RunningServer running;
  std::string storage;
  auto const wait = wait_for("/k", storage);
  std::vector<RawClient> waiters;
  for (std::size_t i = 0; i < 5; ++i) {
    waiters.push_back(greeted(running.port));
    waiters.back().send(wait);
    await_waits(running, i + 1);
  }
  auto setter = greeted(running.port);
  setter.send(wire::Set{"/k", "v"});
  for (auto& waiter : waiters) CHECK(waiter.receive(1) == std::string(1, wire::kStopWaiting));
  running.join();
  CHECK(running.server->counters().wake.count() == 5);
}

TEST_CASE("a cancellation that crosses the wake-up gets both bytes", "[net]") {
  RunningServer running;
  std::string storage;
  auto waiter = greeted(running.port), setter = greeted(running.port);
  waiter.send(wait_for("/k", storage));
  await_waits(running, 1);
  setter.send(encoded({wire::Set{"/k", "v"}, kPing}));
  CHECK(setter.receive(4) == kPong);
  waiter.send(wire::CancelWait{});
  CHECK(waiter.receive(2) == std::string("\0\1", 2));
}

TEST_CASE("a client that ends its own wait is woken before it is answered", "[net]") {
  RunningServer running;
  std::string storage;
  auto client = greeted(running.port);
  client.send(encoded({wait_for("/n", storage), wire::Ping{0x64636261}, wire::Add{"/n", 1}}));
  CHECK(client.receive(13) == kPong + std::string("\0\1\0\0\0\0\0\0\0", 9));
}

TEST_CASE("a client that does not read is not read either, and nobody else notices", "[net]") {
  RunningServer running;
  std::string const big(1u << 20, 'x');
  auto slow = greeted(running.port), other = greeted(running.port);
  other.send(encoded({wire::Set{"/big", big}, kPing}));
  CHECK(other.receive(4) == kPong);
  constexpr std::size_t kGets = 64;
  std::string gets;
  for (std::size_t i = 0; i < kGets; ++i) wire::encode(wire::Get{"/big"}, gets);
  slow.send(gets);
  auto const deadline = soon();
  for (std::uint64_t paused = 0; paused == 0;) {
    REQUIRE_FALSE(deadline.passed(now()));
    other.send(kPing);
    CHECK(other.receive(4) == kPong);
    running.on_thread([&] { paused = running.server->counters().paused; });
  }
  auto const replies = slow.receive(kGets * (8 + big.size()));
  CHECK(replies.substr(0, 8 + big.size()) == sized(big));
  CHECK(replies.substr(replies.size() - 8 - big.size()) == sized(big));
}

TEST_CASE("a client that has closed its sending side still gets its replies", "[net]") {
  RunningServer running;
  std::string const big(4u << 20, 'x');
  auto client = greeted(running.port);
  client.send(encoded({wire::Set{"/big", big}, wire::Get{"/big"}}));
  client.stream().shut_down_sending();
  CHECK(client.receive_all() == sized(big));
}

TEST_CASE("a waiter that disconnects is forgotten", "[net]") {
  RunningServer running;
  std::string storage;
  {
    auto waiter = greeted(running.port);
    waiter.send(wait_for("/k", storage));
    await_waits(running, 1);
  }
  await_waits(running, 0);
}

TEST_CASE("draining sends what is owed, closes the rest at once, and then is done", "[net]") {
  RunningServer running;
  std::string const big(8u << 20, 'x');
  auto idle = greeted(running.port), owed = greeted(running.port);
  owed.send(encoded({wire::Set{"/big", big}, wire::Get{"/big"}, wire::Get{"/big"}}));
  idle.send(kPing);
  CHECK(idle.receive(4) == kPong);
  CHECK(owed.receive(1).size() == 1);
  std::atomic<bool> done = false;
  running.on_thread([&] { running.server->drain(20s, [&] { done = true; }); });
  CHECK(idle.receive_all().empty());
  CHECK(owed.receive_all().size() >= 8 + big.size() - 1);
  auto const deadline = soon();
  while (!done) REQUIRE_FALSE(deadline.passed(now()));
  CHECK_FALSE(PosixStream::connect("127.0.0.1", running.port, deadline_in(20ms)));
}

TEST_CASE("draining ends by its deadline although a client never reads", "[net]") {
  RunningServer running;
  std::string const big(8u << 20, 'x');
  auto stuck = greeted(running.port);
  stuck.send(encoded({wire::Set{"/big", big}, wire::Get{"/big"}, wire::Get{"/big"}}));
  CHECK(stuck.receive(1).size() == 1);
  std::atomic<bool> done = false;
  running.on_thread([&] { running.server->drain(20ms, [&] { done = true; }); });
  auto const deadline = soon();
  while (!done) REQUIRE_FALSE(deadline.passed(now()));
}

TEST_CASE("a server can go while its io_context lives on", "[net]") {
  asio::io_context io(1);
  for (int i = 0; i < 3; ++i) {
    auto acceptor = listen_on(io, "127.0.0.1", 0);
    REQUIRE(acceptor);
    Server server(*std::move(acceptor), {});
    RawClient client(server.port());
    client.send(wire::Validate{});
    io.poll();
  }
  io.restart();
  io.run();  // the handlers that were still queued
}

TEST_CASE("renewed keys are gone, and so are the old connections", "[net]") {
  RunningServer running;
  auto old = greeted(running.port);
  old.send(encoded({wire::Set{"/k", "old"}, kPing}));
  CHECK(old.receive(4) == kPong);
  running.on_thread([&] { running.server->renew_keys(); });
  CHECK(old.receive_all().empty());
  auto client = greeted(running.port);
  client.send(wire::Get{"/k"});
  CHECK(client.receive(8) == sized(""));
}

TEST_CASE("one server is reached over IPv4 and IPv6", "[net]") {
  RunningServer running({}, "::");
  for (auto const* host : {"127.0.0.1", "::1"}) {
    if (std::string_view(host) == "::1" && running.server->endpoint().address().is_v4()) continue;
    RawClient client(running.port, host);
    client.send(encoded({wire::Validate{}, kPing}));
    CHECK(client.receive(4) == kPong);
  }
}

TEST_CASE("the owner is told of each write to the key that it watches, also in a renewed store",
          "[net]") {
  RunningServer running;
  int told = 0;
  running.on_thread([&] { running.server->watch_key("k", [&] { ++told; }); });
  auto const told_by_now = [&] {
    int count = 0;
    running.on_thread([&] { count = told; });
    return count;
  };
  // The owner may hear of a write after whoever wrote has its answer.
  auto const is_told = [&](int times) {
    auto const by = soon();
    while (told_by_now() < times && !by.passed(now())) std::this_thread::yield();
    return told_by_now() == times;
  };
  auto client = greeted(running.port);
  client.send(encoded({wire::Set{"/other", "v"}, wire::Get{"/k"}, kPing}));
  client.receive(8 + 4);
  CHECK(told_by_now() == 0);
  client.send(encoded({wire::Set{"/k", "v"}, wire::CompareSet{"/k", "no", "w"}, kPing}));
  client.receive(8 + 1 + 4);
  CHECK(is_told(1));
  running.on_thread([&] { running.server->renew_keys(); });
  auto again = greeted(running.port);
  again.send(encoded({wire::Set{"/k", "v"}, kPing}));
  again.receive(4);
  CHECK(is_told(2));
}

TEST_CASE("an owner that lets its server go is told nothing more", "[net]") {
  RunningServer running;
  int told = 0;
  running.on_thread([&] {
    running.server->watch_key("k", [&] {
      ++told;
      running.server->stop();  // destroys this function, too
    });
  });
  auto client = greeted(running.port);
  client.send(encoded({wire::Set{"/k", "v"}, wire::Set{"/k", "w"}}));
  client.receive_all();
  running.join();
  CHECK(told == 1);
}
