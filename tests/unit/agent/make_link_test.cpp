// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/make_link.hpp"

#include <catch2/catch.hpp>

using namespace muster;
using namespace muster::launch;
using namespace std::chrono_literals;

namespace {

RunOptions c10d_options() {
  RunOptions options;
  options.nodes_min = 2;
  options.nodes_max = 4;
  options.max_restarts = 3;
  options.rendezvous = Rendezvous::c10d;
  options.rdzv_backend = "c10d";
  options.run_id = "job";
  return options;
}

NodeIdentity const kNode{"n1", 8};

}  // namespace

TEST_CASE("times follow the user's, and fence before dead", "[links]") {
  auto options = c10d_options();
  auto job = job_settings(options);
  CHECK(job.quiet == 3s);
  CHECK(job.dead == 5s);
  CHECK(job.fence == 4s);
  CHECK(job.lease_every == 1s);
  options.settings.dead_after = 2s;
  options.settings.close_timeout = 1s;
  options.settings.last_call_timeout = 30s;
  job = job_settings(options);
  CHECK(job.dead == 2s);
  CHECK(job.fence == 1600ms);
  CHECK(job.lease_every == 500ms);
  CHECK(job.outcome_patience == 1s);
  CHECK(job.quiet == 30s);
}

TEST_CASE("c10d meets at the endpoint, by default at port 29400 of localhost", "[links]") {
  auto options = c10d_options();
  auto remote = remote_link_options(options, kNode, Incarnation{5});
  CHECK(remote.host == "localhost");
  CHECK(remote.port == 29400);
  CHECK(remote.facts.given_rank == -1);
  CHECK_FALSE(remote.job.given_ranks);
  options.endpoint = Endpoint{"head", 1234};
  options.local_addr = "10.0.0.7";
  remote = remote_link_options(options, kNode, Incarnation{5});
  CHECK(remote.host == "head");
  CHECK(remote.port == 1234);
  CHECK(remote.facts.address == "10.0.0.7");
}

TEST_CASE("a name that does not exist is waited for in Kubernetes or if the user said how long",
          "[links]") {
  auto options = c10d_options();
  CHECK_FALSE(remote_link_options(options, kNode, Incarnation{5}).waits_for_name);
  auto pod = kNode;
  pod.in_kubernetes = true;
  CHECK(remote_link_options(options, pod, Incarnation{5}).waits_for_name);
  options.rdzv_conf["join_timeout"] = "60";
  CHECK(remote_link_options(options, kNode, Incarnation{5}).waits_for_name);
}

TEST_CASE("static names its rank and has its store at the endpoint", "[links]") {
  auto options = c10d_options();
  options.rendezvous = Rendezvous::static_ranks;
  options.node_rank = 3;
  options.endpoint = Endpoint{"head", 29500};
  auto const remote = remote_link_options(options, kNode, Incarnation{5});
  CHECK(remote.facts.given_rank == 3);
  CHECK(remote.job.given_ranks);
  CHECK(remote.job.store_at_endpoint);
}

TEST_CASE("one node uses loopback unless the user named an address", "[links]") {
  RunOptions options;
  auto local = local_link_options(options, kNode);
  CHECK(local.master_addr == "127.0.0.1");
  CHECK_FALSE(local.fixed_port);
  options.endpoint = Endpoint{"10.0.0.1", 29501};
  local = local_link_options(options, kNode);
  CHECK(local.master_addr == "10.0.0.1");
  CHECK(local.fixed_port);
}
