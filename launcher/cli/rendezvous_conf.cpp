// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/rendezvous_conf.hpp"

#include "launcher/cli/nearest.hpp"
#include "launcher/cli/values.hpp"

#include <algorithm>
#include <array>

namespace muster::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStaticTimeout{900};          // torchrun's
constexpr long long kMostSeconds = 10'000'000;  // four months

// Fields of torch's RendezvousParameters: torchrun fails on them with a TypeError.
constexpr std::array<std::string_view, 6> kReservedKeys = {"backend",   "endpoint",  "run_id",
                                                           "min_nodes", "max_nodes", "local_addr"};
// What torchrun's handlers read, and muster's own.
constexpr std::array<std::string_view, 23> kConfKeys = {
    "rank",
    "timeout",
    "join_timeout",
    "last_call_timeout",
    "close_timeout",
    "keep_alive_interval",
    "keep_alive_max_attempt",
    "is_host",
    "store_type",
    "peers",
    "dead",
    "dead_at_min",
    "scale_interval",
    "expected",
    "membership_changes",
    "node_id",
    "order_key",
    "bootstrap",
    // From here on: they concern torchrun's own way through its store, and mean nothing here.
    "read_timeout",
    "heartbeat_timeout",
    "heartbeat",
    "use_libuv",
    "cas_backoff_max_seconds",
};

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
    auto const number = python_int(found->second);
    if (!number || *number < least || *number > kMostSeconds)
      return wrong("--rdzv-conf: " + key + "='" + found->second + "' is no whole number from " +
                       std::to_string(least) + " to " + std::to_string(kMostSeconds),
                   "e.g. " + key + "=" + std::to_string(std::max(least, 60LL)));
    out = number;
    return ok();
  }

  template <class Out>
  Result<void> duration(std::string const& key, long long least, Out& out) const {
    std::optional<long long> number;
    MUSTER_CHECK(whole(key, least, number));
    if (number) out = milliseconds(seconds(*number));
    return ok();
  }

  Result<void> text(std::string const& key, std::string& out) const {
    auto const found = values_.find(key);
    if (found == values_.end()) return ok();
    constexpr std::size_t kMost = 255;
    if (found->second.size() > kMost)
      return wrong("--rdzv-conf: " + key + " is longer than " + std::to_string(kMost) + " bytes",
                   "a short name will do");
    out = found->second;
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

// Who are the other agents? With torchrun's among them it is their shared state that decides, by
// their rules and with their times.
Result<void> read_peers(RunOptions& options) {
  auto const found = options.rdzv_conf.find("peers");
  if (found == options.rdzv_conf.end() || found->second == "muster") return ok();
  if (found->second != "torchrun")
    return wrong("--rdzv-conf: peers='" + found->second + "' is unknown",
                 "muster: every agent is a muster's, the default; torchrun: some are torchrun's");
  if (options.rdzv_backend != "c10d")
    return wrong("--rdzv-conf: peers=torchrun contradicts --rdzv-backend=" + options.rdzv_backend,
                 "torchrun's agents and muster's meet with --rdzv-backend=c10d on every node");
  options.settings.torchrun_peers = true;
  options.settings.last_call_timeout = seconds{30};
  options.settings.keep_alive_interval = seconds{5};
  for (auto const* key : {"dead", "dead_at_min", "scale_interval", "expected", "node_id",
                          "order_key", "membership_changes", "bootstrap"})
    if (options.rdzv_conf.count(key) != 0)
      options.warnings.push_back("--rdzv-conf: " + std::string(key) +
                                 " has no effect with peers=torchrun: torchrun's rules decide");
  return ok();
}

// How long a node may be silent. torchrun says it as keep_alive_interval x keep_alive_max_attempt,
// 5 s x 3 by default.
Result<void> read_patience(Conf const& conf, RendezvousSettings& settings) {
  MUSTER_CHECK(conf.duration("keep_alive_interval", 1, settings.keep_alive_interval));
  std::optional<long long> attempts;
  MUSTER_CHECK(conf.whole("keep_alive_max_attempt", 1, attempts));
  settings.keep_alive_attempts = static_cast<int>(attempts.value_or(3));
  auto const by_keep_alive = attempts || conf.has("keep_alive_interval");
  if (by_keep_alive) {
    auto const interval =
        conf.has("keep_alive_interval") ? settings.keep_alive_interval : milliseconds(seconds(5));
    settings.dead_after = interval * attempts.value_or(3);
    if (*settings.dead_after > seconds(kMostSeconds))
      return wrong("--rdzv-conf: keep_alive_interval x keep_alive_max_attempt is more than " +
                       std::to_string(kMostSeconds) + " s",
                   "that is how long a node may be silent, 5 s unless it is given");
  }
  MUSTER_CHECK(conf.duration("dead", 1, settings.dead_after));
  MUSTER_CHECK(conf.duration("dead_at_min", 1, settings.dead_at_min));
  if (by_keep_alive && conf.has("dead"))
    return wrong("--rdzv-conf: dead and keep_alive_* say the same thing twice",
                 "give dead=SECONDS, or keep_alive_interval and keep_alive_max_attempt");
  constexpr seconds kDead{5};  // JobSettings::dead
  if (settings.dead_at_min && *settings.dead_at_min < settings.dead_after.value_or(kDead))
    return wrong("--rdzv-conf: dead_at_min is shorter than dead",
                 "a node without which the job cannot go on is waited for at least as long as "
                 "others");
  return ok();
}

// Who takes part, and when rounds begin.
Result<void> read_membership(Conf const& conf, RunOptions& options) {
  auto& settings = options.settings;
  settings.last_call_timeout = std::min(settings.last_call_timeout, settings.join_timeout);
  MUSTER_CHECK(conf.duration("last_call_timeout", 0, settings.last_call_timeout));
  if (settings.last_call_timeout > settings.join_timeout)
    return wrong("--rdzv-conf: last_call_timeout is longer than join_timeout",
                 "the quiet period before a start below MAX nodes must fit into the join time");
  MUSTER_CHECK(conf.duration("scale_interval", 0, settings.scale_interval));
  std::optional<long long> number;
  MUSTER_CHECK(conf.whole("membership_changes", 0, number));
  if (number) settings.membership_changes = static_cast<int>(*number);
  number.reset();
  MUSTER_CHECK(conf.whole("expected", 1, number));
  if (number && (*number < options.nodes_min || *number > options.nodes_max))
    return wrong("--rdzv-conf: expected=" + std::to_string(*number) + " is outside of --nnodes",
                 "it is the number of nodes that are known to come, from MIN to MAX");
  if (number) settings.expected = static_cast<int>(*number);
  MUSTER_CHECK(conf.text("node_id", settings.node_id));
  MUSTER_CHECK(conf.text("order_key", settings.order_key));
  return ok();
}

// Who may host.
Result<void> read_hosting(Conf const& conf, RunOptions& options) {
  auto& settings = options.settings;
  if (conf.has("is_host")) {
    std::string text;
    MUSTER_CHECK(conf.text("is_host", text));
    settings.is_host = python_bool(text);
    if (!settings.is_host)
      return wrong("--rdzv-conf: is_host='" + text + "' is neither true nor false",
                   "is_host=1 or is_host=0");
  }
  if (!conf.has("bootstrap")) return ok();
  std::string text;
  MUSTER_CHECK(conf.text("bootstrap", text));
  if (text != "never" && text != "auto")
    return wrong("--rdzv-conf: bootstrap='" + text + "' is unknown",
                 "never: this node only joins a job that another one hosts; auto: the default");
  settings.may_begin = text == "auto";
  if (settings.may_begin) return ok();
  auto const must_host = settings.is_host.value_or(false);
  if (must_host || options.rdzv_backend == "static")
    return wrong("--rdzv-conf: bootstrap=never contradicts " +
                     std::string(must_host ? "is_host=1" : "--rdzv-backend=static"),
                 "leave out one of the two");
  return ok();
}

}  // namespace

Result<void> read_rendezvous_settings(RunOptions& options) {
  MUSTER_CHECK(check_keys(options));
  MUSTER_CHECK(check_store_type(options));
  MUSTER_CHECK(read_peers(options));
  Conf const conf(options.rdzv_conf);
  auto& settings = options.settings;
  if (options.rdzv_backend == "static") settings.join_timeout = kStaticTimeout;
  // torchrun's c10d ignores `timeout`, which people give when they mean join_timeout.
  MUSTER_CHECK(conf.duration("timeout", 1, settings.join_timeout));
  if (options.rdzv_backend == "c10d")
    MUSTER_CHECK(conf.duration("join_timeout", 1, settings.join_timeout));
  MUSTER_CHECK(conf.duration("close_timeout", 1, settings.close_timeout));
  MUSTER_CHECK(read_patience(conf, settings));
  MUSTER_CHECK(read_membership(conf, options));
  return read_hosting(conf, options);
}

Result<std::optional<long long>> rank_setting(RunOptions const& options) {
  std::optional<long long> rank;
  MUSTER_CHECK(Conf(options.rdzv_conf).whole("rank", 0, rank));
  return rank;
}

}  // namespace muster::launch
