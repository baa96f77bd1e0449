// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/session.hpp"

#include <catch2/catch.hpp>

#include <atomic>
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

TEST_CASE("an unknown backend is refused by name") {
  SessionOptions options;
  options.backend = "mpi";
  auto const session = Session::open(EnvView(), options);
  REQUIRE(!session);
  CHECK(session.error().code == Errc::unsupported);
  CHECK(session.error().what.find("'mpi'") != std::string::npos);
}
