// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/world_join.hpp"

#include "rendezvous/base/now.hpp"
#include "tests/unit/comm/tcp_world.hpp"
#include "worker_runtime/comm/mesh_join.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace muster;
using namespace muster::worker;
using namespace muster::worker::cases;
using namespace std::chrono_literals;

namespace {

struct Rank {
  int rank = 0, size = 2;
  Duration timeout = 60s;
};

Result<Mesh> join(std::uint16_t port, Rank const& rank) {
  auto const deadline = deadline_in(rank.timeout);
  MUSTER_TRY(auto store, net::BlockingClient::connect("127.0.0.1", port, deadline));
  WorldRequest request;
  request.rank = rank.rank;
  request.size = rank.size;
  request.store_host = "127.0.0.1";
  request.deadline = deadline;
  return join_world(store, request);
}

std::vector<Result<Mesh>> join_all(std::uint16_t port, std::vector<Rank> const& ranks) {
  std::vector<Result<Mesh>> results;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    results.emplace_back(Error{Errc::internal, "not run", {}});
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] { results[i] = join(port, ranks[i]); });
  for (auto& thread : threads) thread.join();
  return results;
}

net::HostedStore start_store() {
  auto store = net::HostedStore::start("127.0.0.1", 0);
  REQUIRE(store);
  return std::move(*store);
}

std::string text_of(Result<Mesh> const& result) {
  return result ? std::string("joined") : to_string(result.error());
}

}  // namespace

TEST_CASE("one store serves world after world: no key of an earlier one is taken for the next") {
  auto const store = start_store();
  for (int attempt = 0; attempt < 5; ++attempt) {
    // Rank 0 comes last on purpose: the others read the earlier attempt's key first.
    std::vector<Result<Mesh>> others;
    std::thread early([&] { others = join_all(store.port(), {Rank{1, 3}, Rank{2, 3}}); });
    auto const first = join(store.port(), Rank{0, 3});
    early.join();
    INFO("attempt " << attempt << ": " << text_of(first) << ", " << text_of(others[0]));
    REQUIRE(first);
    REQUIRE(others[0]);
    REQUIRE(others[1]);
    CHECK(others[1]->rank == 2);
    CHECK(others[1]->size() == 3);
  }
}

TEST_CASE("a rank that does not come is named when the deadline passes") {
  auto const store = start_store();
  // Where the machine is so slow that rank 2 came too late itself, with more patience.
  for (Duration patience = 300ms; patience < 60s; patience *= 4) {
    auto const results = join_all(store.port(), {Rank{0, 4, patience}, Rank{2, 4, patience + 1s}});
    REQUIRE(!results[0]);
    CHECK(results[0].error().code == Errc::timeout);
    if (text_of(results[0]).find("1 of 4 ranks") != std::string::npos) continue;
    CHECK(text_of(results[0]).find("2 of 4 ranks came in time; missing: 1, 3") !=
          std::string::npos);
    REQUIRE(!results[1]);
    CHECK(results[1].error().code == Errc::timeout);
    CHECK(text_of(results[1]).find("missing: 1, 3") != std::string::npos);
    return;
  }
  FAIL("rank 2 never came in time");
}

TEST_CASE("ranks that wait for a rank 0 that is late say so, not only which key is missing") {
  auto const store = start_store();
  auto const late = join(store.port(), Rank{1, 2, 100ms});
  REQUIRE(!late);
  CHECK(late.error().code == Errc::timeout);
  CHECK(text_of(late).find("rank 0 has not begun to form the world in time") != std::string::npos);
  CHECK(text_of(late).find("muster/world") != std::string::npos);
}

TEST_CASE("ranks that disagree about the size of the world are told so on both sides") {
  auto const store = start_store();
  auto const results = join_all(store.port(), {Rank{0, 2}, Rank{1, 3}});
  for (auto const& result : results) {
    REQUIRE(!result);
    CHECK(result.error().code == Errc::mismatch);
    CHECK(text_of(result).find("world of 3") != std::string::npos);
  }
}

TEST_CASE("two processes of one rank are told so") {
  auto const store = start_store();
  auto const results = join_all(store.port(), {Rank{0, 3}, Rank{1, 3}, Rank{1, 3}});
  for (auto const& result : results) {
    REQUIRE(!result);
    CHECK(text_of(result).find("two processes say that they are rank 1") != std::string::npos);
  }
}

TEST_CASE("a foreign value under muster's key is refused") {
  auto const store = start_store();
  auto client = net::BlockingClient::connect("127.0.0.1", store.port(), deadline_in(20s));
  REQUIRE(client);
  REQUIRE(client->set(kWorldKey, "hello", deadline_in(20s)));
  auto const result = join(store.port(), Rank{1, 2});
  REQUIRE(!result);
  CHECK(result.error().code == Errc::protocol);
}

TEST_CASE("connections that are no rank of this group do not disturb its forming") {
  auto listener = listen_on("127.0.0.1");
  REQUIRE(listener);
  std::vector<UniqueFd> strays;
  auto const stray = [&](std::string const& bytes) {
    auto fd = connect_to("127.0.0.1", listener->port, deadline_in(20s));
    REQUIRE(fd);
    REQUIRE(write_all((*fd).get(), bytes, deadline_in(20s)));
    strays.push_back(std::move(*fd));
  };
  Hello hello;
  hello.nonce = 41;
  hello.rank = 1;
  hello.size = 2;
  stray("");
  stray("GET / HTTP/1.1\r\n\r\n");
  stray(encode(ControlMessage(hello)));
  hello.nonce = 42;
  stray(encode(ControlMessage(hello)));
  Callers callers(*listener, 42);
  auto const arrived = callers.next(Mesh(), deadline_in(20s));
  REQUIRE(arrived);
  REQUIRE(arrived->size() == 1);
  CHECK(arrived->front().hello == hello);
}
