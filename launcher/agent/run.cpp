// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/run.hpp"

#include "launcher/agent/agent.hpp"
#include "launcher/agent/epilogue.hpp"
#include "launcher/agent/make_link.hpp"
#include "launcher/cli/parse.hpp"
#include "launcher/cli/port_list.hpp"
#include "launcher/environment/entry_check.hpp"
#include "launcher/environment/fresh_id.hpp"
#include "launcher/environment/interpreter.hpp"
#include "launcher/environment/machine.hpp"
#include "launcher/environment/nproc.hpp"
#include "launcher/environment/numa_binding.hpp"
#include "launcher/process/process_tree.hpp"
#include "rendezvous/base/log.hpp"
#include "rendezvous/net/job_token.hpp"

#include <array>
#include <cstdio>
#include <sys/utsname.h>
#include <utility>

namespace muster::launch {
namespace {

namespace asio = net::asio;

// The console at the end: whoever reads it slowly is waited for, whoever does not read is not.
constexpr Duration kConsoleEnd = std::chrono::seconds{5};

struct Refusal {
  Error error;
  int exit_code = 1;
};

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "localhost";
}

// Outlives the pump, whose thread posts to it. Never destroyed: its end would wait for the lookup
// of a name, for as long as a name server does not answer.
asio::io_context& endless_context() {
  static auto* const io = new asio::io_context{1};
  return *io;
}

std::string first_line(std::optional<std::string> text) {
  if (!text) return {};
  return text->substr(0, text->find('\n'));
}

// What the nodes have to prove to each other. A single node has nobody to prove anything to.
Result<net::Security::Ptr> security(RunOptions const& options, EnvView const& env) {
  if (options.rendezvous == Rendezvous::local) return net::Security::Ptr();
  net::SecurityOptions wanted;
  MUSTER_TRY(wanted.token, net::read_job_token(env.get(net::kTokenVariable), options.token_file));
  if (options.tls)
    wanted.tls = net::TlsFiles{options.tls->certificate, options.tls->key, options.tls->authority};
  if (options.settings.torchrun_peers && (wanted.token || wanted.tls))
    return Error{Errc::refused,
                 "peers=torchrun, and a job token or TLS: torchrun's agents can prove nothing",
                 "leave out one of the two"};
  return net::Security::make(wanted);
}

// Everything that can be known to be wrong before anything is started.
std::optional<Refusal> fill(AgentSetup& setup, Invocation const& invocation) {
  RealFileSystem const files;
  auto const& options = setup.options;
  auto const machine = probe_machine(setup.env, files, wants_gpus(options));
  auto const workers = resolve_nproc(options, setup.env, machine);
  if (!workers) return Refusal{workers.error(), 1};
  setup.node.local_world_size = *workers;
  setup.node.cpus_per_worker = cpus_per_worker(machine, *workers);
  if (auto problem = check_entry(options, setup.env, files))
    return Refusal{std::move(problem->error), problem->exit_code};
  if (options.entry != EntryKind::no_python) {
    auto python = choose_interpreter(setup.env, invocation.called_as, files);
    if (!python) return Refusal{std::move(python).error(), 127};
    setup.node.interpreter = python->path;
    setup.interpreter_version = python->version;
    log::info("Python is " + python->path + ": " + python->reason);
  }
  if (options.numa_binding) {
    auto cpus = numa_cpus(*options.numa_binding, *workers, machine, files);
    if (!cpus) return Refusal{std::move(cpus).error(), 1};
    setup.cpus = *std::move(cpus);
  }
  auto secured = security(options, setup.env);
  if (!secured) return Refusal{std::move(secured).error(), 1};
  setup.security = *std::move(secured);
  setup.host = host_name();
  if (options.rendezvous != Rendezvous::local) {
    auto const usable = usable_networks(interface_addresses(), files);
    auto offer = offer_networks(usable, {options.network, options.local_addr}, setup.host);
    if (!offer) return Refusal{std::move(offer).error(), 1};
    setup.network = *std::move(offer);
  }
  setup.boot_id = first_line(files.read("/proc/sys/kernel/random/boot_id"));
  return std::nullopt;
}

int print_ports(AgentSetup const& setup) {
  auto const range = RealFileSystem().read("/proc/sys/net/ipv4/ip_local_port_range");
  auto const ephemeral = parse_ephemeral_ports(range.value_or(""));
  std::fputs(port_list(setup.options, setup.env, ephemeral).c_str(), stdout);
  return 0;
}

int refuse(EnvView const& env, Refusal const& refusal) {
  log::error(to_string(refusal.error));
  record_error(env, refusal.error);
  return refusal.exit_code;
}

}  // namespace

int run_agent(Invocation invocation) {
  AgentSetup setup;
  setup.env = EnvView::from_process();
  auto const fresh_id = fresh_run_id();
  Caller const caller{invocation.program, fresh_id};
  auto parsed = parse_run(caller, invocation.args, setup.env);
  if (auto const* early = std::get_if<EarlyExit>(&parsed)) {
    std::fputs(early->out.c_str(), stdout);
    std::fputs(early->err.c_str(), stderr);
    return early->code;
  }
  setup.options = std::get<RunOptions>(std::move(parsed));
  setup.inherited = invocation.inherited;
  setup.seat = invocation.seat;
  log::start("muster", setup.options.log_level);
  for (auto const& warning : setup.options.warnings) log::warning(warning);
  if (setup.options.print_ports) return print_ports(setup);
  if (auto const refusal = fill(setup, invocation)) return refuse(setup.env, *refusal);
  auto& io = endless_context();
  Pump pump(setup.options.log_stall);
  log::write_through([&pump](std::string line) { pump.say(std::move(line)); });
  int code = 0;
  {
    NodeIdentity const node{setup.host, static_cast<std::uint32_t>(setup.node.local_world_size),
                            setup.network, setup.security};
    auto const link = make_link(io, setup.options, node);
    Agent agent(io, setup, *link, pump);
    agent.start();
    io.run();
    if (auto const outcome = agent.outcome()) tell_outcome(pump, setup.env, setup.host, *outcome);
    if (agent.error()) record_error(setup.env, *agent.error());
    code = agent.exit_code();
  }
  log::write_through(nullptr);
  pump.finish(kConsoleEnd);
  if (has_children()) end_descendants(std::chrono::seconds{10});
  return code;
}

}  // namespace muster::launch
