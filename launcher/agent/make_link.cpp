// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/make_link.hpp"

#include <algorithm>
#include <random>
#include <unistd.h>

namespace muster::launch {
namespace {

constexpr std::uint16_t kDefaultC10dPort = 29400;  // torchrun's
constexpr std::uint16_t kDefaultStaticPort = 29500;

Incarnation new_incarnation() {
  std::random_device device;
  auto const high = static_cast<std::uint64_t>(device());
  return Incarnation{(high << 32) | device()};
}

template <class Told>
Told told(RunOptions const& options, NodeIdentity const& node) {
  Told link;
  link.run_id = options.run_id;
  link.facts.host = node.host_name;
  link.facts.role = options.role;
  link.facts.local_world_size = node.local_world_size;
  return link;
}

// Where other nodes call this one.
template <class Told>
Told told_by_network(RunOptions const& options, NodeIdentity const& node) {
  auto link = told<Told>(options, node);
  link.facts.address = node.network.address;
  link.facts.networks = node.network.networks;
  return link;
}

}  // namespace

membership::JobSettings job_settings(RunOptions const& options) {
  membership::JobSettings job;
  auto const& given = options.settings;
  job.min_nodes = static_cast<std::uint32_t>(options.nodes_min);
  job.max_nodes = static_cast<std::uint32_t>(options.nodes_max);
  job.max_restarts = static_cast<std::uint32_t>(options.max_restarts);
  job.given_ranks = job.store_at_endpoint = options.rendezvous == Rendezvous::static_ranks;
  job.succession = !job.given_ranks;
  job.expected = static_cast<std::uint32_t>(given.expected);
  job.most_changes = static_cast<std::uint32_t>(given.membership_changes);
  job.quiet = given.last_call_timeout;
  job.join_timeout = given.join_timeout;
  job.scale_interval = given.scale_interval;
  if (given.dead_after) job.dead = job.dead_at_min = *given.dead_after;
  if (given.dead_at_min) job.dead_at_min = *given.dead_at_min;
  job.lease_every = std::min<Duration>(given.keep_alive_interval, job.dead / 4);
  job.outcome_patience = std::min<Duration>(given.close_timeout, job.outcome_patience);
  return job;
}

LocalLinkOptions local_link_options(RunOptions const& options, NodeIdentity const& node) {
  auto local = told<LocalLinkOptions>(options, node);
  local.max_restarts = static_cast<std::uint32_t>(options.max_restarts);
  if (options.local_addr) local.facts.address = *options.local_addr;
  if (options.endpoint) {
    if (!options.endpoint->host.empty()) local.facts.address = options.endpoint->host;
    local.fixed_port = options.endpoint->port != 0;
  }
  return local;
}

RemoteLinkOptions remote_link_options(RunOptions const& options, NodeIdentity const& node,
                                      Incarnation incarnation) {
  auto remote = told_by_network<RemoteLinkOptions>(options, node);
  auto const is_static = options.rendezvous == Rendezvous::static_ranks;
  remote.backend = options.rdzv_backend;
  auto const default_port = is_static ? kDefaultStaticPort : kDefaultC10dPort;
  auto places = options.endpoints;
  if (places.empty()) places.push_back(options.endpoint.value_or(Endpoint{}));
  for (auto const& [host, port] : places)
    remote.places.push_back({host.empty() ? "localhost" : host, port == 0 ? default_port : port});
  if (!is_static) remote.is_host = options.settings.is_host;  // static: node rank 0, always
  remote.may_begin = options.settings.may_begin;
  remote.security = node.security;
  remote.open_store = options.open_store;
  remote.job = job_settings(options);
  remote.facts.incarnation = incarnation;
  if (options.node_rank || is_static) remote.facts.given_rank = options.node_rank.value_or(0);
  remote.facts.node_id = options.settings.node_id;
  remote.facts.order_key = options.settings.order_key;
  return remote;
}

TorchrunLinkOptions torchrun_link_options(RunOptions const& options, NodeIdentity const& node) {
  auto link = told_by_network<TorchrunLinkOptions>(options, node);
  auto const [host, port] = options.endpoint.value_or(Endpoint{});
  link.place = {host.empty() ? "localhost" : host, port == 0 ? kDefaultC10dPort : port};
  link.is_host = options.settings.is_host;
  link.store_ports = options.store_ports;
  auto& settings = link.settings;
  settings.nodes = {static_cast<std::uint32_t>(options.nodes_min),
                    static_cast<std::uint32_t>(options.nodes_max)};
  settings.max_restarts = static_cast<std::uint32_t>(options.max_restarts);
  settings.join_timeout = options.settings.join_timeout;
  settings.last_call = options.settings.last_call_timeout;
  settings.close_timeout = options.settings.close_timeout;
  settings.keep_alive = options.settings.keep_alive_interval;
  settings.keep_alive_attempts = options.settings.keep_alive_attempts;
  link.pid = ::getpid();
  link.seed = new_incarnation().value;
  return link;
}

std::unique_ptr<MembershipLink> make_link(net::asio::io_context& io, RunOptions const& options,
                                          NodeIdentity const& node) {
  if (options.rendezvous == Rendezvous::local) {
    auto post = [&io](std::function<void()> call) { net::asio::post(io, std::move(call)); };
    return std::make_unique<LocalLink>(post, local_link_options(options, node));
  }
  if (options.settings.torchrun_peers)
    return std::make_unique<TorchrunLink>(io, torchrun_link_options(options, node));
  return std::make_unique<RemoteLink>(io, remote_link_options(options, node, new_incarnation()));
}

}  // namespace muster::launch
