// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/make_link.hpp"

#include <algorithm>
#include <random>

namespace muster::launch {
namespace {

constexpr std::uint16_t kDefaultC10dPort = 29400;  // torchrun's
constexpr std::uint16_t kDefaultStaticPort = 29500;

Incarnation new_incarnation() {
  std::random_device device;
  auto const high = static_cast<std::uint64_t>(device());
  return Incarnation{(high << 32) | device()};
}

}  // namespace

membership::JobSettings job_settings(RunOptions const& options) {
  membership::JobSettings job;
  auto const& given = options.settings;
  job.min_nodes = static_cast<std::uint32_t>(options.nodes_min);
  job.max_nodes = static_cast<std::uint32_t>(options.nodes_max);
  job.max_restarts = static_cast<std::uint32_t>(options.max_restarts);
  job.given_ranks = job.store_at_endpoint = options.rendezvous == Rendezvous::static_ranks;
  job.quiet = given.last_call_timeout;
  job.join_timeout = given.join_timeout;
  if (given.dead_after) job.dead = *given.dead_after;
  job.fence = job.dead - job.dead / 5;
  job.lease_every = std::min<Duration>(given.keep_alive_interval, job.dead / 4);
  job.outcome_patience = std::min<Duration>(given.close_timeout, job.outcome_patience);
  return job;
}

LocalLinkOptions local_link_options(RunOptions const& options, NodeIdentity const& node) {
  LocalLinkOptions local;
  local.run_id = options.run_id;
  local.host_name = node.host_name;
  local.role = options.role;
  local.local_world_size = node.local_world_size;
  local.max_restarts = static_cast<std::uint32_t>(options.max_restarts);
  if (options.local_addr) local.master_addr = *options.local_addr;
  if (options.endpoint) {
    if (!options.endpoint->host.empty()) local.master_addr = options.endpoint->host;
    local.fixed_port = options.endpoint->port != 0;
  }
  return local;
}

RemoteLinkOptions remote_link_options(RunOptions const& options, NodeIdentity const& node,
                                      Incarnation incarnation) {
  RemoteLinkOptions remote;
  auto const is_static = options.rendezvous == Rendezvous::static_ranks;
  remote.run_id = options.run_id;
  remote.backend = options.rdzv_backend;
  remote.host = "localhost";
  if (options.endpoint && !options.endpoint->host.empty()) remote.host = options.endpoint->host;
  if (options.endpoint) remote.port = options.endpoint->port;
  if (remote.port == 0) remote.port = is_static ? kDefaultStaticPort : kDefaultC10dPort;
  if (!is_static) remote.is_host = options.settings.is_host;  // static: node rank 0, always
  // Elsewhere a name that nobody knows is a typing error, unless the user said how long to wait.
  auto const patient =
      options.rdzv_conf.contains("join_timeout") || options.rdzv_conf.contains("timeout");
  remote.waits_for_name = patient || node.in_kubernetes;
  remote.job = job_settings(options);
  remote.facts.incarnation = incarnation;
  remote.facts.host = node.host_name;
  remote.facts.address = options.local_addr.value_or("");
  if (is_static) remote.facts.given_rank = options.node_rank.value_or(0);
  remote.facts.local_world_size = node.local_world_size;
  remote.facts.role = options.role;
  return remote;
}

std::unique_ptr<MembershipLink> make_link(net::asio::io_context& io, RunOptions const& options,
                                          NodeIdentity const& node) {
  if (options.rendezvous == Rendezvous::local) {
    auto post = [&io](std::function<void()> call) { net::asio::post(io, std::move(call)); };
    return std::make_unique<LocalLink>(post, local_link_options(options, node));
  }
  return std::make_unique<RemoteLink>(io, remote_link_options(options, node, new_incarnation()));
}

}  // namespace muster::launch
