// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/store/engine.hpp"

#include "rendezvous/base/bytes.hpp"
#include "rendezvous/base/limits.hpp"
#include "rendezvous/wire/encoder.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::store;

namespace {

// An engine and what its clients receive.
struct Bench {
  Engine engine;
  std::vector<ClientId> woken;

  std::string ask(std::uint64_t client, wire::Request const& request) {
    std::string reply;
    auto const done = engine.apply(ClientId{client}, request, reply, woken);
    INFO((done ? std::string() : to_string(done.error())));
    REQUIRE(done);
    return reply;
  }
  Errc refusal(std::uint64_t client, wire::Request const& request) {
    std::string reply;
    auto const done = engine.apply(ClientId{client}, request, reply, woken);
    REQUIRE_FALSE(done);
    return done.error().code;
  }
  std::vector<std::uint64_t> take_woken() {
    std::vector<std::uint64_t> ids;
    for (auto const id : std::exchange(woken, {})) ids.push_back(id.value);
    return ids;
  }
  std::string wait(std::uint64_t client, std::vector<std::string> const& keys) {
    std::string storage;
    return ask(client, wire::Wait{wire::encode_list(keys, storage)});
  }
  std::string check(std::vector<std::string> const& keys) {
    std::string storage;
    return ask(1, wire::Check{wire::encode_list(keys, storage)});
  }
};

using Ids = std::vector<std::uint64_t>;

std::string number(std::int64_t value) {
  std::string bytes;
  ByteWriter{bytes}.number(value);
  return bytes;
}

std::string sized(std::string_view value) {
  std::string bytes;
  ByteWriter{bytes}.sized(value);
  return bytes;
}

std::string const kStop(1, wire::kStopWaiting);
std::string const kNothing;

}  // namespace

TEST_CASE("set and get, and a missing key is empty", "[store]") {
  Bench bench;
  CHECK(bench.ask(1, wire::Set{"/k", "v"}) == kNothing);
  CHECK(bench.ask(2, wire::Get{"/k"}) == sized("v"));
  CHECK(bench.ask(2, wire::Get{"/missing"}) == sized(""));
  CHECK(bench.ask(1, wire::Set{"", "empty key"}) == kNothing);
  CHECK(bench.ask(1, wire::Get{""}) == sized("empty key"));
}

TEST_CASE("compare_set creates on an empty expectation, replaces on an equal one", "[store]") {
  Bench bench;
  CHECK(bench.ask(1, wire::CompareSet{"/c", "", "a"}) == sized("a"));
  CHECK(bench.ask(1, wire::CompareSet{"/c", "b", "x"}) == sized("a"));
  CHECK(bench.ask(1, wire::CompareSet{"/c", "a", "b"}) == sized("b"));
  CHECK(bench.ask(1, wire::Get{"/c"}) == sized("b"));
}

TEST_CASE("compare_set echoes the expectation of a missing key and creates nothing", "[store]") {
  Bench bench;
  CHECK(bench.wait(2, {"/c"}) == kNothing);
  CHECK(bench.ask(1, wire::CompareSet{"/c", "e", "n"}) == sized("e"));
  CHECK(bench.take_woken().empty());
  CHECK(bench.ask(1, wire::GetNumKeys{}) == number(0));
}

TEST_CASE("compare_set wakes who waits for the key", "[store]") {
  Bench bench;
  CHECK(bench.wait(2, {"/c"}) == kNothing);
  CHECK(bench.ask(1, wire::CompareSet{"/c", "", "n"}) == sized("n"));
  CHECK(bench.take_woken() == Ids{2});
}

TEST_CASE("add keeps a decimal text", "[store]") {
  Bench bench;
  CHECK(bench.ask(1, wire::Add{"/n", 5}) == number(5));
  CHECK(bench.ask(1, wire::Add{"/n", -7}) == number(-2));
  CHECK(bench.ask(1, wire::Get{"/n"}) == sized("-2"));
}

TEST_CASE("add reads numbers as upstream's stoll does", "[store]") {
  Bench bench;
  bench.ask(1, wire::Set{"/a", "12x"});
  CHECK(bench.ask(1, wire::Add{"/a", 1}) == number(13));
  bench.ask(1, wire::Set{"/b", " +7"});
  CHECK(bench.ask(1, wire::Add{"/b", 1}) == number(8));
  bench.ask(1, wire::Set{"/c", "9223372036854775807"});
  CHECK(bench.ask(1, wire::Add{"/c", 1}) == number(INT64_MIN));
}

TEST_CASE("add to what is no number is refused and changes nothing", "[store]") {
  Bench bench;
  auto const text = GENERATE(as<std::string>(), "", "x", "+-1", "99223372036854775807");
  bench.ask(1, wire::Set{"/n", text});
  CHECK(bench.refusal(1, wire::Add{"/n", 1}) == Errc::protocol);
  CHECK(bench.ask(1, wire::Get{"/n"}) == sized(text));
}

TEST_CASE("check counts keys and queues that are not empty", "[store]") {
  Bench bench;
  bench.ask(1, wire::Set{"/k", ""});
  bench.ask(1, wire::QueuePush{"/q", "1"});
  CHECK(bench.check({"/k", "/q"}) == std::string(1, wire::kReady));
  CHECK(bench.check({"/k", "/z"}) == std::string(1, wire::kNotReady));
  CHECK(bench.check({}) == std::string(1, wire::kReady));
}

TEST_CASE("a wait ends when its last key comes, now or later", "[store]") {
  Bench bench;
  bench.ask(1, wire::Set{"/a", "1"});
  CHECK(bench.wait(2, {"/a"}) == kStop);
  CHECK(bench.wait(2, {}) == kStop);
  CHECK(bench.wait(2, {"/a", "/b", "/c"}) == kNothing);
  bench.ask(1, wire::Set{"/b", "1"});
  CHECK(bench.take_woken().empty());
  bench.ask(1, wire::Set{"/b", "again"});
  CHECK(bench.take_woken().empty());
  bench.ask(1, wire::Append{"/c", "1"});
  CHECK(bench.take_woken() == Ids{2});
}

TEST_CASE("waiters are woken in the order of their arrival, each once", "[store]") {
  Bench bench;
  for (std::uint64_t const client : {5u, 3u, 9u, 4u}) CHECK(bench.wait(client, {"/k"}) == kNothing);
  bench.ask(1, wire::Set{"/k", "1"});
  CHECK(bench.take_woken() == Ids{5, 3, 9, 4});
  bench.ask(1, wire::Set{"/k", "2"});
  CHECK(bench.take_woken().empty());
}

TEST_CASE("a deletion neither wakes a waiter nor takes back what woke it", "[store]") {
  Bench bench;
  CHECK(bench.wait(2, {"/a", "/b"}) == kNothing);
  bench.ask(1, wire::Set{"/a", "1"});
  CHECK(bench.ask(1, wire::DeleteKey{"/a"}) == number(1));
  CHECK(bench.ask(1, wire::DeleteKey{"/a"}) == number(0));
  bench.ask(1, wire::Set{"/b", "1"});
  CHECK(bench.take_woken() == Ids{2});
}

TEST_CASE("set, add, append, multi_set and queue_push end a wait", "[store]") {
  Bench bench;
  std::string storage;
  std::vector<std::string> const pair{"/k", "v"};
  auto const request = GENERATE_REF(
      wire::Request(wire::Set{"/k", "v"}), wire::Request(wire::Add{"/k", 1}),
      wire::Request(wire::Append{"/k", "v"}), wire::Request(wire::QueuePush{"/k", "v"}));
  CHECK(bench.wait(2, {"/k"}) == kNothing);
  bench.ask(1, request);
  CHECK(bench.take_woken() == Ids{2});
  CHECK(bench.wait(2, {"/m"}) == kNothing);
  std::vector<std::string> const pairs{"/m", "v"};
  bench.ask(1, wire::MultiSet{wire::encode_list(pairs, storage)});
  CHECK(bench.take_woken() == Ids{2});
}

TEST_CASE("a cancelled wait is answered and forgotten", "[store]") {
  Bench bench;
  CHECK(bench.wait(2, {"/k", "/l"}) == kNothing);
  CHECK(bench.ask(2, wire::CancelWait{}) == std::string(1, wire::kWaitCanceled));
  bench.ask(1, wire::Set{"/k", "1"});
  bench.ask(1, wire::Set{"/l", "1"});
  CHECK(bench.take_woken().empty());
  CHECK(bench.engine.waiters().waits() == 0);
  // Cancelling what was just woken, or nothing, is answered the same way.
  CHECK(bench.ask(2, wire::CancelWait{}) == std::string(1, wire::kWaitCanceled));
}

TEST_CASE("a client that leaves is woken no more", "[store]") {
  Bench bench;
  CHECK(bench.wait(2, {"/k"}) == kNothing);
  CHECK(bench.wait(3, {"/k"}) == kNothing);
  bench.engine.leave(ClientId{2});
  bench.ask(1, wire::Set{"/k", "1"});
  CHECK(bench.take_woken() == Ids{3});
}

TEST_CASE("append makes a key or adds to it, up to a limit", "[store]") {
  Bench bench;
  bench.ask(1, wire::Append{"/k", "ab"});
  bench.ask(1, wire::Append{"/k", "cd"});
  CHECK(bench.ask(1, wire::Get{"/k"}) == sized("abcd"));
  std::string const big(limits::kMaxValueBytes, 'x');
  for (int i = 0; i < 7; ++i) bench.ask(1, wire::Append{"/k", big});
  CHECK(bench.refusal(1, wire::Append{"/k", big}) == Errc::limit);
}

TEST_CASE("multi_get answers in order, empty for what is missing", "[store]") {
  Bench bench;
  std::string storage, more;
  std::vector<std::string> const pairs{"/a", "1", "/b", "2"}, keys{"/b", "/x", "/a"};
  bench.ask(1, wire::MultiSet{wire::encode_list(pairs, storage)});
  CHECK(bench.ask(1, wire::MultiGet{wire::encode_list(keys, more)}) ==
        sized("2") + sized("") + sized("1"));
}

TEST_CASE("a reply that would exceed the limit is refused", "[store]") {
  Bench bench;
  std::string const big(limits::kMaxValueBytes, 'x');
  bench.ask(1, wire::Set{"/big", big});
  std::vector<std::string> const keys(9, "/big");
  std::string storage;
  CHECK(bench.refusal(1, wire::MultiGet{wire::encode_list(keys, storage)}) == Errc::limit);
}

TEST_CASE("queues are first in, first out, and are no keys", "[store]") {
  Bench bench;
  CHECK(bench.ask(1, wire::QueuePop{"/q"}) == number(0));
  bench.ask(1, wire::QueuePush{"/q", "1"});
  bench.ask(1, wire::QueuePush{"/q", "2"});
  CHECK(bench.ask(1, wire::QueueLen{"/q"}) == number(2));
  CHECK(bench.ask(1, wire::QueuePop{"/q"}) == number(2) + sized("1"));
  CHECK(bench.ask(1, wire::GetNumKeys{}) == number(0));
  CHECK(bench.ask(1, wire::DeleteKey{"/q"}) == number(0));
  CHECK(bench.ask(1, wire::QueueLen{"/q"}) == number(1));
}

TEST_CASE("a push wakes one waiter, the oldest", "[store]") {
  Bench bench;
  CHECK(bench.wait(2, {"/q"}) == kNothing);
  CHECK(bench.wait(3, {"/q"}) == kNothing);
  bench.ask(1, wire::QueuePush{"/q", "1"});
  CHECK(bench.take_woken() == Ids{2});
  bench.ask(1, wire::QueuePush{"/q", "2"});
  CHECK(bench.take_woken() == Ids{3});
}

TEST_CASE("a waiter that lacks another key does not use up a push", "[store]") {
  Bench bench;
  CHECK(bench.wait(2, {"/q", "/k"}) == kNothing);
  CHECK(bench.wait(3, {"/q"}) == kNothing);
  bench.ask(1, wire::QueuePush{"/q", "1"});
  CHECK(bench.take_woken() == Ids{3});
  bench.ask(1, wire::Set{"/k", "1"});
  CHECK(bench.take_woken() == Ids{2});
}

TEST_CASE("a wait on a queue that has values and on a missing key ends with the key", "[store]") {
  Bench bench;
  bench.ask(1, wire::QueuePush{"/q", "1"});
  CHECK(bench.wait(2, {"/q", "/k"}) == kNothing);
  bench.ask(1, wire::Set{"/k", "1"});
  CHECK(bench.take_woken() == Ids{2});
}

TEST_CASE("getnumkeys and list_keys know every key, also those without a slash", "[store]") {
  Bench bench;
  bench.ask(1, wire::Add{"init/", 1});
  bench.ask(1, wire::Set{"/k", "v"});
  CHECK(bench.ask(1, wire::GetNumKeys{}) == number(2));
  auto const list = bench.ask(1, wire::ListKeys{});
  CHECK((list == number(2) + sized("init/") + sized("/k") ||
         list == number(2) + sized("/k") + sized("init/")));
}

TEST_CASE("a barrier parks until the last arrives, and late ones pass", "[store]") {
  Bench bench;
  CHECK(bench.ask(2, wire::Barrier{"/b", 3}) == kNothing);
  CHECK(bench.ask(3, wire::Barrier{"/b", 3}) == kNothing);
  CHECK(bench.take_woken().empty());
  CHECK(bench.ask(4, wire::Barrier{"/b", 3}) == kStop);
  CHECK(bench.take_woken() == Ids{2, 3});
  CHECK(bench.ask(5, wire::Barrier{"/b", 3}) == kStop);
  CHECK(bench.ask(5, wire::Get{"/b"}) == sized("4"));
}

TEST_CASE("a barrier wakes who waits for its key, but only when it is complete", "[store]") {
  Bench bench;
  CHECK(bench.wait(9, {"/b"}) == kNothing);
  CHECK(bench.ask(2, wire::Barrier{"/b", 2}) == kNothing);
  CHECK(bench.take_woken().empty());
  CHECK(bench.ask(3, wire::Barrier{"/b", 2}) == kStop);
  CHECK(bench.take_woken() == Ids{9, 2});
}

TEST_CASE("a barrier's wait can be cancelled", "[store]") {
  Bench bench;
  CHECK(bench.ask(2, wire::Barrier{"/b", 2}) == kNothing);
  CHECK(bench.ask(2, wire::CancelWait{}) == std::string(1, wire::kWaitCanceled));
  CHECK(bench.ask(3, wire::Barrier{"/b", 2}) == kStop);
  CHECK(bench.take_woken().empty());
}

TEST_CASE("a barrier over a key that is no number is refused", "[store]") {
  Bench bench;
  bench.ask(1, wire::Set{"/b", "x"});
  CHECK(bench.refusal(1, wire::Barrier{"/b", 2}) == Errc::protocol);
}

TEST_CASE("a validate in the middle is refused", "[store]") {
  Bench bench;
  CHECK(bench.refusal(1, wire::Validate{}) == Errc::protocol);
}

TEST_CASE("ping echoes its nonce", "[store]") {
  Bench bench;
  CHECK(bench.ask(1, wire::Ping{0x64636261}) == "abcd");
}

TEST_CASE("one connection cannot wait for more keys than the limit", "[store]") {
  Bench bench;
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < limits::kMaxKeyCount; ++i) keys.push_back(std::to_string(i));
  CHECK(bench.wait(1, keys) == kNothing);
  std::string storage;
  std::vector<std::string> const one{"/one"};
  CHECK(bench.refusal(1, wire::Wait{wire::encode_list(one, storage)}) == Errc::limit);
  CHECK(bench.wait(2, one) == kNothing);
}

TEST_CASE("counters follow what is there", "[store]") {
  Bench bench;
  bench.ask(1, wire::Set{"/key", "12345"});
  bench.ask(1, wire::Set{"/key", "1"});
  bench.ask(1, wire::Append{"/key", "23"});
  bench.ask(1, wire::QueuePush{"/q", "abcd"});
  bench.wait(2, {"/w"});
  auto const& counters = bench.engine.counters();
  CHECK(counters.key_bytes == 4);
  CHECK(counters.value_bytes == 3);
  CHECK(counters.queued_bytes == 4);
  CHECK(bench.engine.waiters().waits() == 1);
  bench.ask(1, wire::DeleteKey{"/key"});
  bench.ask(1, wire::QueuePop{"/q"});
  bench.ask(1, wire::Set{"/w", ""});
  CHECK(counters.key_bytes == 2);
  CHECK(counters.value_bytes == 0);
  CHECK(counters.queued_bytes == 0);
  CHECK(counters.wakes == 1);
  CHECK(counters.requests[static_cast<std::size_t>(wire::Opcode::set)] == 3);
}

TEST_CASE("that a watched key was written is told once, and of no other key", "[store]") {
  Bench bench;
  bench.engine.watch("/k");
  std::string storage;
  std::vector<std::string> const pair{"/k", "5"};
  std::vector<wire::Request> const writes{wire::Set{"/k", "1"}, wire::CompareSet{"/k", "1", "2"},
                                          wire::Append{"/k", "3"}, wire::Add{"/k", 1},
                                          wire::MultiSet{wire::encode_list(pair, storage)}};
  for (auto const& request : writes) {
    INFO("request " << request.index());
    bench.ask(1, request);
    CHECK(bench.engine.take_written());
    CHECK_FALSE(bench.engine.take_written());
  }
  bench.ask(1, wire::CompareSet{"/k", "another", "v"});
  bench.ask(1, wire::Get{"/k"});
  bench.ask(1, wire::Set{"/other", "v"});
  CHECK_FALSE(bench.engine.take_written());
}
