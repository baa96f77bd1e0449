// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/port_list.hpp"

#include <catch2/catch.hpp>

namespace muster::launch {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

RunOptions meeting_at(std::string host, std::uint16_t port) {
  RunOptions options;
  options.run_id = "job";
  options.nodes_min = options.nodes_max = 2;
  options.rendezvous = Rendezvous::c10d;
  options.endpoint = Endpoint{std::move(host), port};
  return options;
}

std::string ports(RunOptions const& options, Variables variables = {}) {
  return port_list(options, EnvView(std::move(variables)), PortRange{32768, 60999});
}

}  // namespace

TEST_CASE("the kernel's range of free ports is read as it is written", "[cli]") {
  CHECK(parse_ephemeral_ports("32768\t60999\n") == PortRange{32768, 60999});
  CHECK(parse_ephemeral_ports("1024 65535") == PortRange{1024, 65535});
  for (auto const* text : {"", "32768", "a b", "9 8", "0 5", "1 70000"})
    CHECK_FALSE(parse_ephemeral_ports(text));
}

TEST_CASE("a job of several nodes needs its endpoint, its store and what its libraries open",
          "[cli]") {
  auto options = meeting_at("head", 29400);
  options.store_ports = {{29600, 29620}, {29700, 29700}};
  CHECK(
      ports(options, {{"NCCL_SOCKET_IFNAME", "ib0"}}) ==
      "run job: TCP ports to be open from each of its nodes to each\n"
      "  29400           the rendezvous at head:29400, and each node's own listener\n"
      "  29600-29620,29700 the workers' store, on the node of rank 0\n"
      "  32768-60999     what the workers' libraries open: gloo, NCCL's bootstrap and sockets, "
      "muster's\n"
      "                  own; net.ipv4.ip_local_port_range of each node (sysctl) says where\n"
      "                  NCCL_SOCKET_IFNAME=ib0: as it is set here\n"
      "                  GLOO_SOCKET_IFNAME: set by muster to the network that it chooses\n"
      "  UDP 4791        NCCL over RoCE, where there is such hardware; InfiniBand needs no port\n");
}

TEST_CASE("without --store-ports the store is at a port of the system's choice", "[cli]") {
  auto const text = ports(meeting_at("fd77::1", 29400));
  CHECK_THAT(text, Catch::Contains("the rendezvous at [fd77::1]:29400"));
  CHECK_THAT(text, Catch::Contains("32768-60999     the workers' store, on the node of rank 0: fix "
                                   "it with --store-ports"));
  CHECK_THAT(port_list(meeting_at("head", 1), EnvView(), std::nullopt),
             Catch::Contains("  any             the workers' store"));
}

TEST_CASE("static needs one port of muster's", "[cli]") {
  auto options = meeting_at("head", 29500);
  options.rendezvous = Rendezvous::static_ranks;
  CHECK_THAT(ports(options), Catch::Contains("29500") &&
                                 Catch::Contains("the workers' store there") &&
                                 !Catch::Contains("--store-ports"));
}

TEST_CASE("one node needs no open port", "[cli]") {
  RunOptions options;
  options.run_id = "job";
  CHECK(ports(options) == "run job has one node: no port needs to be open to others\n");
}

}  // namespace muster::launch
