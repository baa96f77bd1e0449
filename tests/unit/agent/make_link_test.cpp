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

NodeIdentity const kNode{"n1", 8, {}};

}  // namespace

TEST_CASE("times follow the user's", "[links]") {
  auto options = c10d_options();
  auto job = job_settings(options);
  CHECK(job.quiet == 3s);
  CHECK(job.dead == 5s);
  CHECK(job.dead_at_min == 60s);
  CHECK(job.scale_interval == 30s);
  CHECK(job.lease_every == 1s);
  CHECK(job.succession);
  options.settings.dead_after = 2s;
  options.settings.close_timeout = 1s;
  options.settings.last_call_timeout = 30s;
  job = job_settings(options);
  CHECK(job.dead == 2s);
  CHECK(job.dead_at_min == 2s);
  CHECK(job.lease_every == 500ms);
  CHECK(job.outcome_patience == 1s);
  CHECK(job.quiet == 30s);
  options.settings.dead_at_min = 90s;
  CHECK(job_settings(options).dead_at_min == 90s);
}

TEST_CASE("c10d meets at the endpoint, by default at port 29400 of localhost", "[links]") {
  auto options = c10d_options();
  auto remote = remote_link_options(options, kNode, Incarnation{5});
  CHECK(remote.places == std::vector<net::Place>{{"localhost", 29400}});
  CHECK(remote.facts.given_rank == -1);
  CHECK_FALSE(remote.job.given_ranks);
  options.endpoint = Endpoint{"head", 1234};
  auto node = kNode;
  node.network = {"10.0.0.7", {{"eth0", "10.0.0.7", 24, false}}};
  remote = remote_link_options(options, node, Incarnation{5});
  CHECK(remote.places == std::vector<net::Place>{{"head", 1234}});
  CHECK(remote.facts.address == "10.0.0.7");
  CHECK(remote.facts.networks == node.network.networks);
  options.endpoints = {{"head", 1234}, {"second", 29400}};
  remote = remote_link_options(options, kNode, Incarnation{5});
  CHECK(remote.places == std::vector<net::Place>{{"head", 1234}, {"second", 29400}});
}

TEST_CASE("with c10d a node rank is a wish, and none is none", "[links]") {
  auto options = c10d_options();
  CHECK(remote_link_options(options, kNode, Incarnation{5}).facts.given_rank == -1);
  options.node_rank = 2;
  CHECK(remote_link_options(options, kNode, Incarnation{5}).facts.given_rank == 2);
}

TEST_CASE("what --rdzv-conf says of a node and of its job goes where it is asked for", "[links]") {
  auto options = c10d_options();
  options.settings.node_id = "pod-3";
  options.settings.order_key = "rack-1";
  options.settings.expected = 3;
  options.settings.membership_changes = 7;
  options.settings.scale_interval = 10s;
  options.settings.may_begin = false;
  auto const remote = remote_link_options(options, kNode, Incarnation{5});
  CHECK(remote.facts.node_id == "pod-3");
  CHECK(remote.facts.order_key == "rack-1");
  CHECK(remote.job.expected == 3);
  CHECK(remote.job.most_changes == 7);
  CHECK(remote.job.scale_interval == 10s);
  CHECK_FALSE(remote.may_begin);
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
  CHECK_FALSE(remote.job.succession);
}

TEST_CASE("one node uses loopback unless the user named an address", "[links]") {
  RunOptions options;
  auto local = local_link_options(options, kNode);
  CHECK(local.facts.address.empty());  // loopback
  CHECK_FALSE(local.fixed_port);
  options.endpoint = Endpoint{"10.0.0.1", 29501};
  local = local_link_options(options, kNode);
  CHECK(local.facts.address == "10.0.0.1");
  CHECK(local.fixed_port);
}
