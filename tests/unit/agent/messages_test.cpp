// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/messages.hpp"

#include <catch2/catch.hpp>

#include <csignal>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

AgentSetup setup_of(int workers) {
  AgentSetup setup;
  setup.options.run_id = "job7";
  setup.options.max_restarts = 3;
  setup.node.local_world_size = workers;
  return setup;
}

}  // namespace

TEST_CASE("the start line names workers, nodes, logs, interpreter and its version", "[agent]") {
  auto setup = setup_of(4);
  setup.node.interpreter = "/venv/bin/python";
  setup.interpreter_version = "3.11.2";
  RoundView view;
  view.world_size = 4;
  CHECK(start_line(setup, view, "/l/job7_x") ==
        "muster: run job7: 4 workers on 1 node, logs in /l/job7_x, /venv/bin/python (3.11.2)");
}

TEST_CASE("with several nodes the start line says which ranks are here", "[agent]") {
  RoundView view;
  view.world_size = 8;
  view.group_world_size = 2;
  view.group_rank = 1;
  view.rank_base = 4;
  CHECK(start_line(setup_of(4), view, "") ==
        "muster: run job7: 8 workers on 2 nodes (node 1 has ranks 4-7), no logs");
  CHECK_THAT(start_line(setup_of(1), view, ""), Catch::Contains("(node 1 has rank 4)"));
}

TEST_CASE("the network that was chosen is one line, and none on one machine", "[agent]") {
  RoundView view;
  view.master_addr = "10.77.0.1";
  view.master_port = 43211;
  CHECK_FALSE(network_line(view));
  view.interface = "eth0";
  view.network = "10.77.0.0/24";
  CHECK(network_line(view) == "muster: network: 10.77.0.0/24 by eth0, master 10.77.0.1:43211");
  view.network = "fd77::/64";
  view.master_addr = "fd77::1";
  CHECK(network_line(view) == "muster: network: fd77::/64 by eth0, master [fd77::1]:43211");
}

TEST_CASE("a restart says who died of what, which restart it is and how long it took", "[agent]") {
  RoundView view;
  view.rank_base = 4;
  view.world_size = 8;
  view.restart_count = 2;
  auto const cause = cause_line(view, 1, 812, ExitStatus{0, SIGKILL});
  CHECK(cause == "rank 5 (local rank 1, pid 812) died of SIGKILL");
  CHECK(restart_line(setup_of(4), view, cause, 12'340us) ==
        "muster: rank 5 (local rank 1, pid 812) died of SIGKILL; restart 2 of 3 with 8 workers "
        "after 12.3 ms");
}

TEST_CASE("a round that a node's coming or going brought says why and who goes on", "[agent]") {
  RoundView view;
  view.rank_base = 4;
  view.world_size = 8;
  view.repeat = 1;
  view.group_world_size = 2;
  view.group_rank = 1;
  CHECK(restart_line(setup_of(4), view, "node h2 is lost: no lease for 5.0 s", 40ms) ==
        "muster: node h2 is lost: no lease for 5.0 s; 2 nodes go on with 8 workers (node 1 has "
        "ranks 4-7) after 40.0 ms");
  view.group_world_size = 1;
  view.world_size = 4;
  CHECK(restart_line(setup_of(4), view, "", Duration::zero()) ==
        "muster: the round ended; 1 node goes on with 4 workers");
}
