// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/rendezvous_rules.hpp"

#include "launcher/cli/nearest.hpp"
#include "launcher/cli/values.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace muster::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint16_t kStaticPort = 29500;  // torchrun's
constexpr std::uint16_t kC10dPort = 29400;    // torchrun's
constexpr seconds kStaticTimeout{900};        // torchrun's

// Fields of torch's RendezvousParameters: torchrun fails on them with a TypeError.
constexpr std::array<std::string_view, 6> kReservedKeys = {"backend",   "endpoint",  "run_id",
                                                           "min_nodes", "max_nodes", "local_addr"};
// What torchrun's handlers read.
constexpr std::array<std::string_view, 14> kConfKeys = {
    "rank",
    "timeout",
    "join_timeout",
    "last_call_timeout",
    "close_timeout",
    "keep_alive_interval",
    "keep_alive_max_attempt",
    "is_host",
    "store_type",
    // From here on: they concern torchrun's own way through its store, and mean nothing here.
    "read_timeout",
    "heartbeat_timeout",
    "heartbeat",
    "use_libuv",
    "cas_backoff_max_seconds",
};

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

class Conf {
 public:
  explicit Conf(std::map<std::string, std::string> const& values) : values_(values) {}

  bool has(std::string const& key) const { return values_.count(key) != 0; }

  Result<void> whole(std::string const& key, long long least, std::optional<long long>& out) const {
    auto const found = values_.find(key);
    if (found == values_.end()) return ok();
    constexpr long long kMost = 10'000'000;  // four months of seconds
    auto const number = python_int(found->second);
    if (!number || *number < least || *number > kMost)
      return wrong("--rdzv-conf: " + key + "='" + found->second + "' is no whole number from " +
                       std::to_string(least) + " on",
                   "e.g. " + key + "=" + std::to_string(std::max(least, 60LL)));
    out = number;
    return ok();
  }

  Result<void> duration(std::string const& key, long long least, milliseconds& out) const {
    std::optional<long long> number;
    MUSTER_CHECK(whole(key, least, number));
    if (number) out = seconds(*number);
    return ok();
  }

 private:
  std::map<std::string, std::string> const& values_;
};

Result<void> check_keys(RunOptions& options) {
  for (auto const& entry : options.rdzv_conf) {
    auto const& key = entry.first;
    if (std::find(kReservedKeys.begin(), kReservedKeys.end(), key) != kReservedKeys.end())
      return wrong("--rdzv-conf: '" + key + "' is no setting of the rendezvous",
                   "it has an option of its own: --rdzv-backend, --rdzv-endpoint, --rdzv-id, "
                   "--nnodes, --local-addr");
    if (std::find(kConfKeys.begin(), kConfKeys.end(), key) != kConfKeys.end()) continue;
    auto const close = nearest(key, {kConfKeys.begin(), kConfKeys.end()});
    options.warnings.push_back("--rdzv-conf: the key '" + key + "' is unknown and has no effect" +
                               (close ? "; did you mean " + std::string(*close) + "?" : ""));
  }
  return ok();
}

Result<void> check_store_type(RunOptions const& options) {
  auto const found = options.rdzv_conf.find("store_type");
  if (found == options.rdzv_conf.end() || found->second == "tcp") return ok();
  return Error{
      Errc::unsupported, "--rdzv-conf: store_type=" + found->second + " is not supported, only tcp",
      "nodes that share a folder reach each other by network too: leave store_type out and "
      "give --rdzv-endpoint=HOST:PORT"};
}

Result<void> read_settings(RunOptions& options) {
  MUSTER_CHECK(check_keys(options));
  MUSTER_CHECK(check_store_type(options));
  Conf const conf(options.rdzv_conf);
  auto& settings = options.settings;
  if (options.rdzv_backend == "static") settings.join_timeout = kStaticTimeout;
  // torchrun's c10d ignores `timeout`, which people give when they mean join_timeout.
  MUSTER_CHECK(conf.duration("timeout", 1, settings.join_timeout));
  if (options.rdzv_backend == "c10d")
    MUSTER_CHECK(conf.duration("join_timeout", 1, settings.join_timeout));
  MUSTER_CHECK(conf.duration("last_call_timeout", 0, settings.last_call_timeout));
  MUSTER_CHECK(conf.duration("close_timeout", 1, settings.close_timeout));
  MUSTER_CHECK(conf.duration("keep_alive_interval", 1, settings.keep_alive_interval));
  std::optional<long long> attempts;
  MUSTER_CHECK(conf.whole("keep_alive_max_attempt", 1, attempts));
  if (attempts || conf.has("keep_alive_interval")) {
    // torchrun's rule: dead after interval x attempts, 5 s x 3 by default.
    auto const interval =
        conf.has("keep_alive_interval") ? settings.keep_alive_interval : milliseconds(seconds(5));
    settings.dead_after = interval * attempts.value_or(3);
  }
  if (auto const is_host = options.rdzv_conf.find("is_host"); is_host != options.rdzv_conf.end()) {
    settings.is_host = python_bool(is_host->second);
    if (!settings.is_host)
      return wrong("--rdzv-conf: is_host='" + is_host->second + "' is neither true nor false",
                   "is_host=1 or is_host=0");
  }
  return ok();
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
    MUSTER_CHECK(Conf(options.rdzv_conf).whole("rank", 0, rank));
  }
  if (!rank && options.rdzv_backend == "static") rank = 0;
  if (!rank) return ok();
  if (*rank < 0 || *rank >= options.nodes_max)
    return wrong("--node-rank=" + std::to_string(*rank) + " is outside of 0.." +
                     std::to_string(options.nodes_max - 1),
                 "--nnodes=" + std::to_string(options.nodes_max) + " was given; ranks start at 0");
  options.node_rank = static_cast<int>(*rank);
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

// torchrun's rule for static: the endpoint, else --master-addr and --master-port.
Result<Endpoint> static_endpoint(RawOptions const& raw, std::optional<std::uint16_t> port) {
  auto const given = trimmed(text_of(raw, "rdzv-endpoint"));
  auto const default_port = port.value_or(kStaticPort);
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

// Several nodes and an address that means each of them itself: they would never meet.
Result<void> check_reachable(RawOptions const& raw, EnvView const& env, RunOptions& options) {
  auto const& endpoint = *options.endpoint;
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
  MUSTER_CHECK(read_settings(options));
  MUSTER_CHECK(choose_node_rank(raw, options));
  MUSTER_TRY(auto const port, master_port(raw));
  bool const is_static = options.rdzv_backend == "static";
  // torchrun since 2.12: one node and no place named is --standalone.
  bool const named = !trimmed(text_of(raw, "rdzv-endpoint")).empty() || port;
  if (is_static && options.nodes_max == 1) options.node_rank = 0;
  if (is_static && (named || options.nodes_max > 1)) {
    MUSTER_TRY(options.endpoint, static_endpoint(raw, port));
  } else if (options.nodes_max > 1) {
    auto endpoint = parse_endpoint(text_of(raw, "rdzv-endpoint"), kC10dPort);
    if (!endpoint) return wrong("--rdzv-endpoint: " + endpoint.error().what, endpoint.error().hint);
    options.endpoint = *std::move(endpoint);
  }
  options.rendezvous = options.nodes_max == 1 ? Rendezvous::local
                       : is_static            ? Rendezvous::static_ranks
                                              : Rendezvous::c10d;
  if (is_static) options.nodes_min = options.nodes_max;  // torchrun's static waits for MAX as well
  if (options.nodes_max > 1) MUSTER_CHECK(check_reachable(raw, env, options));
  return choose_run_id(raw, fresh_run_id, options.nodes_max == 1 && !(is_static && named), options);
}

}  // namespace muster::launch
