// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/session.hpp"

#include "rendezvous/net/hosted_store.hpp"
#include "worker_runtime/comm/socket_io.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <poll.h>
#include <thread>

using namespace muster;
using namespace muster::worker;

TEST_CASE("a world of one needs no network") {
  auto session = Session::open(EnvView({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  REQUIRE(session);
  CHECK(session->size() == 1);
  CHECK(session->rank() == 0);
  auto const tensor = Tensor::of<float>(Shape{2}, std::vector<float>{1.0F, 2.0F});
  CallOptions options;
  options.factor = 0.5;
  CHECK(all_reduce(session->world(), tensor, options).wait());
  CHECK(tensor.as<float>()[1] == 1.0F);
  CHECK(barrier(session->world()).wait());
  CHECK(!*session->stop_requested());
  session->request_stop();
  CHECK(*session->stop_requested());
}

TEST_CASE("a request to stop is agreed by all ranks at the same step") {
  auto sessions = Session::threads(3);
  std::vector<int> stopped_at(3, -1);
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&, rank] {
      for (int step = 0; step < 10; ++step) {
        if (rank == 1 && step == 4) sessions[rank].request_stop();
        auto const stop = sessions[rank].stop_requested();
        if (stop && *stop) {
          stopped_at[rank] = step;
          return;
        }
      }
    });
  for (auto& rank : ranks) rank.join();
  CHECK(stopped_at == std::vector<int>{4, 4, 4});
}

TEST_CASE("cores come from MUSTER_CPUS, then OMP_NUM_THREADS, then the affinity mask") {
  EnvView environment({{"OMP_NUM_THREADS", "1"}, {"MUSTER_CPUS", "6"}});
  CHECK(Session::open(environment)->cpus() == 6);
  environment.unset("MUSTER_CPUS");
  CHECK(Session::open(environment)->cpus() == 1);
  environment.unset("OMP_NUM_THREADS");
  CHECK(Session::open(environment)->cpus() >= 1);
}

TEST_CASE("the round is muster's, and 0 without it") {
  EnvView environment;
  CHECK(Session::open(environment)->round() == 0);
  environment.set("MUSTER_ROUND", "3");
  CHECK(Session::open(environment)->round() == 3);
}

TEST_CASE("an unknown backend is refused by name") {
  SessionOptions options;
  options.backend = "mpi";
  auto const session = Session::open(EnvView(), options);
  REQUIRE(!session);
  CHECK(session.error().code == Errc::unsupported);
  CHECK(session.error().what.find("'mpi'") != std::string::npos);
}

namespace {

// A port that nobody listens on right now.
std::uint16_t free_port() {
  auto const store = net::HostedStore::start("127.0.0.1", 0);
  REQUIRE(store);
  return store->port();
}

std::vector<std::string> meet_by_url(std::uint16_t port, EnvView const& environment) {
  std::vector<std::string> outcomes(2);
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      SessionOptions options;
      options.url = "tcp://127.0.0.1:" + std::to_string(port) + "?rank=" + std::to_string(rank) +
                    "&world_size=2";
      options.timeout = std::chrono::seconds{60};
      auto session = Session::open(environment, options);
      if (!session) {
        outcomes[rank] = to_string(session.error());
        return;
      }
      auto const done = barrier(session->world()).wait();
      outcomes[rank] = done ? "rank " + std::to_string(session->rank()) + " local " +
                                  std::to_string(session->local_rank())
                            : to_string(done.error());
    });
  for (auto& rank : ranks) rank.join();
  return outcomes;
}

}  // namespace

TEST_CASE("tcp:// needs no launcher, and is not confused by one") {
  std::vector<std::string> const good{"rank 0 local 0", "rank 1 local 1"};
  CHECK(meet_by_url(free_port(), EnvView()) == good);
  EnvView torchrun;
  torchrun.set("RANK", "7");
  torchrun.set("WORLD_SIZE", "9");
  torchrun.set("TORCHELASTIC_USE_AGENT_STORE", "True");
  CHECK(meet_by_url(free_port(), torchrun) == good);
}

TEST_CASE("a port that serves a store already is used, not fought for") {
  auto const store = net::HostedStore::start("127.0.0.1", 0);
  REQUIRE(store);
  CHECK(meet_by_url(store->port(), EnvView()) ==
        std::vector<std::string>{"rank 0 local 0", "rank 1 local 1"});
}

TEST_CASE("a port that something else listens on is named, at once if that something speaks") {
  // A listener that answers every connection with bytes that no store sends, then closes it.
  auto listener = listen_on("");
  REQUIRE(listener);
  std::thread stranger([&] {
    pollfd entry{listener->fd.get(), POLLIN, 0};
    REQUIRE(::poll(&entry, 1, 20'000) == 1);
    auto const caller = accept_from(*listener);
    if (caller) static_cast<void>(write_all((*caller).get(), "220 hello\r\n", Deadline::never()));
  });
  SessionOptions options;
  options.url = "tcp://127.0.0.1:" + std::to_string(listener->port) + "?rank=0&world_size=2";
  auto const session = Session::open(EnvView(), options);
  stranger.join();
  REQUIRE(!session);
  INFO(to_string(session.error()));
  CHECK(session.error().code == Errc::address_in_use);
  CHECK(session.error().what.find("its owner is no store") != std::string::npos);
}
