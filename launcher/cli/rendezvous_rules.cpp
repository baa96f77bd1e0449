// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/rendezvous_rules.hpp"

#include "launcher/cli/nearest.hpp"
#include "launcher/cli/rendezvous_conf.hpp"
#include "launcher/cli/values.hpp"
#include "rendezvous/base/names.hpp"

#include <algorithm>
#include <limits>

namespace muster::launch {
namespace {

constexpr std::uint16_t kStaticPort = 29500;  // torchrun's
constexpr std::uint16_t kC10dPort = 29400;    // torchrun's

std::string_view text_of(RawOptions const& raw, std::string_view name) {
  auto const found = raw.values.find(name);
  return found == raw.values.end() ? std::string_view{} : std::string_view(found->second);
}

bool has(RawOptions const& raw, std::string_view name) {
  return raw.values.find(name) != raw.values.end();
}

Error wrong(std::string what, std::string hint) {
  return Error{Errc::bad_input, std::move(what), std::move(hint)};
}

Result<void> choose_backend(RawOptions const& raw, RunOptions& options) {
  options.rdzv_backend = has(raw, "rdzv-backend") ? text_of(raw, "rdzv-backend") : "static";
  auto const& backend = options.rdzv_backend;
  if (raw.toggles.count("standalone") != 0) {
    options.rdzv_backend = "c10d";
    return ok();
  }
  if (backend == "static" || backend == "c10d") return ok();
  if (backend == "etcd" || backend == "etcd-v2")
    return Error{Errc::unsupported, "--rdzv-backend=" + backend + " is not supported",
                 "use --rdzv-backend=c10d with the same nodes; no etcd is needed"};
  std::vector<std::string_view> const known{"static", "c10d"};
  auto const close = nearest(backend, known);
  return Error{Errc::unsupported,
               "--rdzv-backend='" + backend +
                   "' is unknown; a backend that is a Python plug-in cannot "
                   "be loaded here",
               close ? "did you mean " + std::string(*close) + "?" : "use static or c10d"};
}

Result<void> choose_node_rank(RawOptions const& raw, RunOptions& options) {
  std::optional<long long> rank;
  if (has(raw, "node-rank")) {
    rank = python_int(text_of(raw, "node-rank"));
    if (!rank)
      return wrong("--node-rank='" + std::string(text_of(raw, "node-rank")) + "' is no integer",
                   "0 for the first node");
  } else {
    MUSTER_TRY(rank, rank_setting(options));
  }
  if (!rank && options.rdzv_backend == "static") rank = 0;
  if (!rank) return ok();
  if (*rank < 0 || *rank >= options.nodes_max)
    return wrong("--node-rank=" + std::to_string(*rank) + " is outside of 0.." +
                     std::to_string(options.nodes_max - 1),
                 "--nnodes=" + std::to_string(options.nodes_max) + " was given; ranks start at 0");
  options.node_rank = static_cast<int>(*rank);
  if (options.settings.torchrun_peers && options.nodes_max > 1)
    options.warnings.push_back(
        "--node-rank has no effect with peers=torchrun: ranks are in the order of addresses");
  return ok();
}

Result<std::optional<std::uint16_t>> master_port(RawOptions const& raw) {
  if (!has(raw, "master-port")) return std::optional<std::uint16_t>();
  auto const text = text_of(raw, "master-port");
  auto const port = python_int(text);
  if (!port || *port < 0 || *port > std::numeric_limits<std::uint16_t>::max())
    return wrong("--master-port='" + std::string(text) + "' is no port",
                 "a number from 0 to 65535; 0 lets the system choose on one node");
  return std::optional(static_cast<std::uint16_t>(*port));
}

// "a:29500,b:29500": the places at which the nodes meet.
Result<std::vector<Endpoint>> endpoint_list(std::string_view given) {
  std::vector<Endpoint> places;
  for (auto const& part : split(given, ',')) {
    if (trimmed(part).empty() && !trimmed(given).empty())
      return wrong("--rdzv-endpoint='" + std::string(given) + "' has an empty place",
                   "HOST:PORT,HOST:PORT");
    auto place = parse_endpoint(part, kC10dPort);
    if (!place) return wrong("--rdzv-endpoint: " + place.error().what, place.error().hint);
    if (std::find(places.begin(), places.end(), *place) != places.end())
      return wrong("--rdzv-endpoint names '" + std::string(trimmed(part)) + "' twice",
                   "each place once, in the same order on every node");
    places.push_back(*std::move(place));
  }
  return places;
}

// torchrun's rule for static: the endpoint, else --master-addr and --master-port.
Result<Endpoint> static_endpoint(RawOptions const& raw, std::optional<std::uint16_t> port) {
  auto const given = trimmed(text_of(raw, "rdzv-endpoint"));
  auto const default_port = port.value_or(kStaticPort);
  if (given.find(',') != std::string_view::npos)
    return wrong("--rdzv-endpoint names several places, but --rdzv-backend=static has one",
                 "use --rdzv-backend=c10d, or name the host of node rank 0 alone");
  if (!given.empty()) {
    auto endpoint = parse_endpoint(given, default_port);
    if (!endpoint) return wrong("--rdzv-endpoint: " + endpoint.error().what, endpoint.error().hint);
    return endpoint;
  }
  auto address = trimmed(text_of(raw, "master-addr"));
  if (address.empty()) address = "127.0.0.1";
  bool const bare_ipv6 =
      address.front() != '[' && std::count(address.begin(), address.end(), ':') > 1;
  auto endpoint = parse_endpoint(
      bare_ipv6 ? "[" + std::string(address) + "]" : std::string(address), default_port);
  if (!endpoint) return wrong("--master-addr: " + endpoint.error().what, endpoint.error().hint);
  endpoint->port = default_port;
  return endpoint;
}

bool slurm_job_of_several_nodes(EnvView const& env) {
  for (auto const* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"})
    if (auto const text = env.get(name))
      if (auto const nodes = parse_int(*text)) return *nodes > 1;
  return false;
}

// Static ranks are all awaited: MIN means nothing, and whoever gives it meant c10d.
void warn_of_elastic_static(RunOptions& options) {
  if (options.rdzv_backend != "static" || options.nodes_min == options.nodes_max) return;
  auto const most = std::to_string(options.nodes_max);
  options.warnings.push_back("--nnodes=" + std::to_string(options.nodes_min) + ":" + most +
                             " with --rdzv-backend=static, the default, waits for all " + most +
                             " nodes; for nodes that come and go give --rdzv-backend=c10d, "
                             "--rdzv-endpoint=HOST:PORT and --rdzv-id=NAME");
}

// Several nodes and an address that means each of them itself: they would never meet.
Result<void> check_reachable(RawOptions const& raw, EnvView const& env, Endpoint const& endpoint,
                             RunOptions& options) {
  if (endpoint.port == 0)
    return wrong(
        "the nodes cannot meet at port 0: only the node that listens learns which port it is",
        "give the same port on every node, e.g. --rdzv-endpoint=HOST:29400");
  if (!is_loopback(endpoint.host)) return ok();
  std::string const remedy =
      "give the address of one node, the same on all, e.g. --rdzv-endpoint=HOST:" +
      std::to_string(endpoint.port);
  auto const nodes = std::to_string(options.nodes_max) + " nodes are to meet at '" +
                     (endpoint.host.empty() ? "localhost" : endpoint.host) +
                     "', which on every machine is the machine itself";
  if (slurm_job_of_several_nodes(env))
    return wrong(nodes + ", in a Slurm job of several nodes", remedy);
  if (trimmed(text_of(raw, "rdzv-endpoint")).empty() &&
      trimmed(text_of(raw, "master-addr")).empty())
    options.warnings.push_back(nodes + "; " + remedy);
  return ok();
}

// A pod that is started anew under its name takes its old place.
std::string pod_name(EnvView const& env) {
  if (!env.get("KUBERNETES_SERVICE_HOST")) return {};
  return std::string(env.get("HOSTNAME").value_or(""));
}

Result<void> choose_run_id(RawOptions const& raw, std::string_view fresh, bool is_fresh,
                           RunOptions& options) {
  bool const given = has(raw, "rdzv-id");
  options.run_id = given ? std::string(text_of(raw, "rdzv-id")) : "none";
  if (options.run_id.empty() && options.nodes_max > 1)
    return wrong("--rdzv-id is empty: each node would make up an id of its own",
                 "give the same name on all nodes, or leave it out");
  if (options.run_id.empty() || (!given && is_fresh)) options.run_id = fresh;
  return ok();
}

// What others keep and show, and would refuse.
Result<void> check_names(RunOptions const& options) {
  struct Named {
    char const* option;
    std::string const& value;
  };
  for (auto const& [option, value] :
       {Named{"--rdzv-id", options.run_id}, Named{"--role", options.role},
        Named{"--rdzv-conf: node_id", options.settings.node_id},
        Named{"--rdzv-conf: order_key", options.settings.order_key}})
    if (!is_name(value))
      return wrong(std::string(option) + " is no name: it may have " +
                       std::to_string(kMaxNameBytes) + " bytes, and no control character",
                   "give a short one that can be shown in one line");
  return ok();
}

}  // namespace

Result<void> settle_rendezvous(RawOptions const& raw, EnvView const& env,
                               std::string_view fresh_run_id, RunOptions& options) {
  if (raw.toggles.count("standalone") != 0) {
    if (options.nodes_min > 1)
      return wrong("--standalone is one node, but --nnodes asks for at least " +
                       std::to_string(options.nodes_min),
                   "leave out one of the two");
    options.nodes_max = 1;
  }
  MUSTER_CHECK(choose_backend(raw, options));
  auto conf = parse_rdzv_conf(text_of(raw, "rdzv-conf"));
  if (!conf) return wrong("--rdzv-conf: " + conf.error().what, "e.g. join_timeout=300,is_host=1");
  options.rdzv_conf = *std::move(conf);
  MUSTER_CHECK(read_rendezvous_settings(options));
  MUSTER_CHECK(choose_node_rank(raw, options));
  MUSTER_TRY(auto const port, master_port(raw));
  bool const is_static = options.rdzv_backend == "static";
  // torchrun since 2.12: one node and no place named is --standalone.
  bool const named = !trimmed(text_of(raw, "rdzv-endpoint")).empty() || port;
  if (is_static && options.nodes_max == 1) options.node_rank = 0;
  if (is_static && (named || options.nodes_max > 1)) {
    MUSTER_TRY(options.endpoint, static_endpoint(raw, port));
  } else if (options.nodes_max > 1) {
    MUSTER_TRY(options.endpoints, endpoint_list(text_of(raw, "rdzv-endpoint")));
    options.endpoint = options.endpoints.front();
  }
  if (options.settings.torchrun_peers && options.endpoints.size() > 1)
    return wrong("--rdzv-endpoint names " + std::to_string(options.endpoints.size()) +
                     " places, of which torchrun's agents know the first alone",
                 "give one place with peers=torchrun");
  options.rendezvous = options.nodes_max == 1 ? Rendezvous::local
                       : is_static            ? Rendezvous::static_ranks
                                              : Rendezvous::c10d;
  warn_of_elastic_static(options);
  if (is_static) options.nodes_min = options.nodes_max;  // torchrun's static waits for MAX as well
  if (options.nodes_max > 1) {
    auto const places =
        options.endpoints.empty() ? std::vector{*options.endpoint} : options.endpoints;
    for (auto const& place : places) MUSTER_CHECK(check_reachable(raw, env, place, options));
    if (options.settings.node_id.empty()) options.settings.node_id = pod_name(env);
  }
  MUSTER_CHECK(
      choose_run_id(raw, fresh_run_id, options.nodes_max == 1 && !(is_static && named), options));
  return check_names(options);
}

}  // namespace muster::launch
