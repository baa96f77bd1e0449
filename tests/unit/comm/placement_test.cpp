// SPDX-License-Identifier: Apache-2.0
#include "worker_runtime/comm/placement.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::worker;

namespace {

EnvView torchrun_environment() {
  return EnvView({{"RANK", "3"},
                  {"WORLD_SIZE", "4"},
                  {"LOCAL_RANK", "1"},
                  {"MASTER_ADDR", "node-1"},
                  {"MASTER_PORT", "29500"},
                  {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                  {"TORCHELASTIC_RESTART_COUNT", "2"},
                  {"MUSTER_ROUND", "5"}});
}

EnvView one(char const* name, char const* value) {
  EnvView environment;
  environment.set(name, value);
  return environment;
}

std::string refusal(EnvView const& environment, std::string_view url) {
  auto const placement = read_placement(environment, url);
  return placement ? std::string() : to_string(placement.error());
}

}  // namespace

TEST_CASE("env:// reads torchrun's variables") {
  auto const placement = read_placement(torchrun_environment(), "env://");
  REQUIRE(placement);
  CHECK(placement->rank == 3);
  CHECK(placement->size == 4);
  CHECK(placement->local_rank == 1);
  CHECK(placement->host == "node-1");
  CHECK(placement->port == 29500);
  CHECK(placement->agent_store);
  CHECK(placement->restart_count == 2);
  CHECK(placement->round == 5);
}

TEST_CASE("a missing or wrong variable is named") {
  auto environment = torchrun_environment();
  environment.unset("MASTER_ADDR");
  CHECK(refusal(environment, "env://").find("MASTER_ADDR") != std::string::npos);
  environment = torchrun_environment();
  environment.set("RANK", "4");
  CHECK(refusal(environment, "env://").find("RANK 4 is outside a world of 4") != std::string::npos);
  environment.set("RANK", "one");
  CHECK(refusal(environment, "env://").find("RANK") != std::string::npos);
  environment = torchrun_environment();
  environment.set("MASTER_PORT", "70000");
  CHECK(refusal(environment, "env://").find("MASTER_PORT is 70000") != std::string::npos);
}

TEST_CASE("a world of one needs no address, and an empty environment is a world of one") {
  auto const alone = read_placement(EnvView({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "env://");
  REQUIRE(alone);
  CHECK(alone->size == 1);
  auto const nothing = read_placement(EnvView(), "env://");
  REQUIRE(nothing);
  CHECK(nothing->size == 1);
}

TEST_CASE("another launcher's world is not mistaken for many worlds of one") {
  CHECK(refusal(one("OMPI_COMM_WORLD_SIZE", "4"), "env://").find("OMPI_COMM_WORLD_SIZE") !=
        std::string::npos);
  CHECK(refusal(one("SLURM_STEP_NUM_TASKS", "1"), "env://").empty());
}

TEST_CASE("tcp:// takes everything from the url, whatever a launcher has set") {
  auto const placement =
      read_placement(torchrun_environment(), "tcp://10.0.0.7:1234?rank=1&world_size=2&use_libuv=1");
  REQUIRE(placement);
  CHECK(placement->rank == 1);
  CHECK(placement->size == 2);
  CHECK(placement->host == "10.0.0.7");
  CHECK(placement->port == 1234);
  CHECK(!placement->agent_store);
  CHECK(!placement->local_rank);
  auto const six = read_placement(EnvView(), "tcp://[::1]:1234?world_size=2&rank=0");
  REQUIRE(six);
  CHECK(six->host == "::1");
}

TEST_CASE("a bad url is refused with what is wrong and how to write it") {
  for (auto const* url :
       {"tcp://host:1?rank=0", "tcp://host?rank=0&world_size=2", "tcp://:1?rank=0&world_size=2",
        "tcp://h:x?rank=0&world_size=2", "tcp://h:1?rank=2&world_size=2", "tcp://h:1",
        "tcp://h:1?rank=a&world_size=2", "file:///x"}) {
    INFO(url);
    CHECK(!refusal(EnvView(), url).empty());
  }
}
