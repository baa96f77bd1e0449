// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/validate.hpp"

#include "launcher/cli/rendezvous_rules.hpp"
#include "launcher/cli/torchrun_flags.hpp"
#include "launcher/cli/values.hpp"

namespace muster::launch {
namespace {

using std::chrono::seconds;

Error wrong(std::string what, std::string hint) {
  return Error{Errc::bad_input, std::move(what), std::move(hint)};
}

// The option's own text, or what the table says.
std::string text_or_default(RawOptions const& raw, std::string_view name) {
  if (auto const found = raw.values.find(name); found != raw.values.end()) return found->second;
  for (auto const& flag : kFlags)
    if (flag.name == name) return std::string(flag.fallback);
  return {};
}

bool is_on(RawOptions const& raw, std::string_view name) {
  return raw.toggles.find(name) != raw.toggles.end();
}

// Runs a grammar of values.hpp on an option and says which option was wrong.
template <class Parse>
auto parsed(RawOptions const& raw, std::string_view name, Parse parse)
    -> decltype(parse(std::string_view{})) {
  auto result = parse(text_or_default(raw, name));
  if (!result) {
    auto error = std::move(result).error();
    error.what = "--" + std::string(name) + ": " + error.what;
    return error;
  }
  return result;
}

Result<void> read_numbers(RawOptions const& raw, RunOptions& options) {
  auto const restarts = python_int(text_or_default(raw, "max-restarts"));
  constexpr long long kMostRestarts = 1'000'000'000;
  if (!restarts || *restarts < 0 || *restarts > kMostRestarts)
    return wrong("--max-restarts='" + text_or_default(raw, "max-restarts") + "' must be 0 or more",
                 "0 means that the first failure ends the job");
  options.max_restarts = static_cast<int>(*restarts);
  auto const interval = python_real(text_or_default(raw, "monitor-interval"));
  if (!interval || *interval <= 0)
    return wrong(
        "--monitor-interval='" + text_or_default(raw, "monitor-interval") + "' must be above 0",
        "it has no effect here and can be left out");
  return ok();
}

Result<void> read_shutdown_timeout(RawOptions const& raw, EnvView const& env, RunOptions& options) {
  constexpr char kVariable[] = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
  auto text = text_or_default(raw, "shutdown-timeout");
  std::string name = "--shutdown-timeout";
  if (text.empty()) {
    text = std::string(env.get(kVariable).value_or(""));
    name = kVariable;
  }
  if (text.empty()) return ok();
  constexpr long long kMostSeconds = 10'000'000;
  auto const timeout = python_int(text);
  if (!timeout || *timeout < 0 || *timeout > kMostSeconds)
    return wrong(name + "='" + text + "' is no number of seconds", "0 or more; 30 by default");
  options.shutdown_timeout = seconds(*timeout);
  return ok();
}

void read_signals(RawOptions const& raw, RunOptions& options) {
  options.signals_text = text_or_default(raw, "signals-to-handle");
  auto list = parse_signals(options.signals_text);
  options.signals_to_handle = std::move(list.numbers);
  for (auto const& name : list.unknown)
    options.warnings.push_back("--signals-to-handle: '" + name + "' is no signal of this system");
}

Result<void> read_entry(RawOptions const& raw, RunOptions& options) {
  options.program = raw.program;
  options.args = raw.args;
  if (raw.program.empty() && !options.print_ports)
    return wrong("the script's name is empty", "is a variable unset in the command?");
  bool const no_python = is_on(raw, "no-python");
  bool const module = is_on(raw, "module");
  if (is_on(raw, "run-path")) {
    options.entry = EntryKind::run_path;
  } else if (no_python && module) {
    return wrong("--no-python and --module exclude each other: a module needs Python",
                 "leave out one of the two");
  } else if (no_python) {
    options.entry = EntryKind::no_python;
  } else {
    options.entry = module ? EntryKind::module : EntryKind::script;
  }
  options.virtual_local_rank = is_on(raw, "virtual-local-rank");
  return ok();
}

Result<void> read_numa_binding(RawOptions const& raw, RunOptions& options) {
  auto const text = text_or_default(raw, "numa-binding");
  if (text.empty()) return ok();
  if (text == "node") {
    options.numa_binding = NumaBinding::node;
  } else if (text == "socket") {
    options.numa_binding = NumaBinding::socket;
  } else if (text == "exclusive") {
    options.numa_binding = NumaBinding::exclusive;
  } else if (text == "core-complex") {
    options.numa_binding = NumaBinding::core_complex;
  } else {
    return wrong("--numa-binding='" + text + "' is unknown",
                 "node, socket, exclusive or core-complex");
  }
  return ok();
}

Result<void> refuse_plugins(RawOptions const& raw, RunOptions& options) {
  auto const specs = text_or_default(raw, "logs-specs");
  if (!specs.empty() && specs != "default")
    return Error{Errc::unsupported,
                 "--logs-specs='" + specs + "' names a Python plug-in, which cannot be loaded here",
                 "leave it out; --log-dir, --redirects and --tee say where logs go"};
  auto const handler = text_or_default(raw, "event-log-handler");
  if (handler == "console") {
    options.warnings.push_back(
        "--event-log-handler=console has no effect: torchrun's event records are not written");
  } else if (handler != "null" && handler != "dynamic_rendezvous" && !handler.empty()) {
    return Error{
        Errc::unsupported,
        "--event-log-handler='" + handler + "' names a Python plug-in, which cannot be loaded here",
        "null or console"};
  }
  return ok();
}

Result<void> read_logs(RawOptions const& raw, EnvView const& env, RunOptions& options) {
  auto const folder = text_or_default(raw, "log-dir");
  options.log_files_off = folder == "/dev/null";
  if (!folder.empty() && !options.log_files_off) options.log_dir = folder;
  MUSTER_TRY(options.redirects, parsed(raw, "redirects", parse_stream_spec));
  MUSTER_TRY(options.tee, parsed(raw, "tee", parse_stream_spec));
  if (!text_or_default(raw, "local-ranks-filter").empty()) {
    MUSTER_TRY(auto ranks, parsed(raw, "local-ranks-filter", parse_rank_set));
    options.local_ranks_filter = std::move(ranks);
  }
  auto const stall = text_or_default(raw, "log-stall");
  if (stall == "block") options.log_stall = LogStall::block;
  if (stall == "stop") options.log_stall = LogStall::stop;
  options.stdout_filters = parse_words(text_or_default(raw, "duplicate-stdout-filters"));
  options.stderr_filters = parse_words(text_or_default(raw, "duplicate-stderr-filters"));
  if (auto const prefix = env.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"))
    options.log_line_prefix_template = std::string(*prefix);
  return ok();
}

Result<void> read_security(RawOptions const& raw, RunOptions& options) {
  if (auto path = text_or_default(raw, "token-file"); !path.empty())
    options.token_file = std::move(path);
  options.open_store = is_on(raw, "open-store");
  TlsPaths tls{text_or_default(raw, "tls-cert"), text_or_default(raw, "tls-key"),
               text_or_default(raw, "tls-ca")};
  auto const given =
      int(!tls.certificate.empty()) + int(!tls.key.empty()) + int(!tls.authority.empty());
  if (given == 3) options.tls = std::move(tls);
  if (given == 1 || given == 2)
    return wrong("TLS needs all of --tls-cert, --tls-key and --tls-ca; given are " +
                     std::to_string(given) + " of them",
                 "both sides show a certificate and check the other's");
  return ok();
}

Result<void> read_log_level(RawOptions const& raw, EnvView const& env, RunOptions& options) {
  auto text = text_or_default(raw, "log-level");
  std::string name = "--log-level";
  if (text.empty()) {
    text = std::string(env.get("LOGLEVEL").value_or(""));
    name = "LOGLEVEL";
  }
  if (text.empty()) return ok();
  auto const level = log::parse_level(text);
  if (!level) return wrong(name + "='" + text + "' is no level", "debug, info, warning or error");
  options.log_level = *level;
  return ok();
}

Result<void> read_networks(RawOptions const& raw, RunOptions& options) {
  options.network = text_or_default(raw, "network");
  options.print_ports = is_on(raw, "print-ports");
  if (auto const address = text_or_default(raw, "local-addr"); !address.empty()) {
    MUSTER_TRY(auto const endpoint, parsed(raw, "local-addr", [](std::string_view text) {
                 return parse_endpoint(
                     text.front() == '[' ? std::string(text) : "[" + std::string(text) + "]", 0);
               }));
    options.local_addr = endpoint.host;
  }
  if (!text_or_default(raw, "store-ports").empty()) {
    MUSTER_TRY(options.store_ports, parsed(raw, "store-ports", parse_port_ranges));
  }
  return ok();
}

// What was given and changes nothing in this job.
void warn_of_networks(RunOptions& options) {
  if (!options.network.empty() && options.nodes_max == 1)
    options.warnings.push_back("--network has no effect: this job has one node");
  auto const endpoint_port = options.endpoint ? options.endpoint->port : 0;
  if (!options.store_ports.empty() && options.rendezvous != Rendezvous::c10d && endpoint_port != 0)
    options.warnings.push_back("--store-ports has no effect: the workers' store is at port " +
                               std::to_string(endpoint_port) + ", that of the endpoint");
}

}  // namespace

Result<RunOptions> validate(RawOptions const& raw, EnvView const& env,
                            std::string_view fresh_run_id) {
  RunOptions options;
  MUSTER_TRY(auto const range, parsed(raw, "nnodes", parse_node_range));
  options.nodes_min = range.first;
  options.nodes_max = range.second;
  MUSTER_TRY(options.nproc, parsed(raw, "nproc-per-node", parse_nproc));
  options.role = text_or_default(raw, "role");
  MUSTER_CHECK(read_networks(raw, options));
  MUSTER_CHECK(read_numbers(raw, options));
  MUSTER_CHECK(read_shutdown_timeout(raw, env, options));
  read_signals(raw, options);
  MUSTER_CHECK(read_entry(raw, options));
  MUSTER_CHECK(read_numa_binding(raw, options));
  MUSTER_CHECK(refuse_plugins(raw, options));
  MUSTER_CHECK(read_logs(raw, env, options));
  MUSTER_CHECK(read_log_level(raw, env, options));
  MUSTER_CHECK(read_security(raw, options));
  MUSTER_CHECK(settle_rendezvous(raw, env, fresh_run_id, options));
  warn_of_networks(options);
  return options;
}

}  // namespace muster::launch
