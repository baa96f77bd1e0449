// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/run.hpp"

#include "launcher/agent/agent.hpp"
#include "launcher/agent/epilogue.hpp"
#include "launcher/agent/make_link.hpp"
#include "launcher/cli/parse.hpp"
#include "launcher/environment/entry_check.hpp"
#include "launcher/environment/fresh_id.hpp"
#include "launcher/environment/interpreter.hpp"
#include "launcher/environment/machine.hpp"
#include "launcher/environment/nproc.hpp"
#include "launcher/environment/numa_binding.hpp"
#include "launcher/process/process_tree.hpp"
#include "rendezvous/base/log.hpp"

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

std::string first_line(std::optional<std::string> text) {
  if (!text) return {};
  return text->substr(0, text->find('\n'));
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
  setup.host = host_name();
  setup.boot_id = first_line(files.read("/proc/sys/kernel/random/boot_id"));
  return std::nullopt;
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
  if (auto const refusal = fill(setup, invocation)) return refuse(setup.env, *refusal);
  Pump pump;
  log::write_through([&pump](std::string line) { pump.say(std::move(line)); });
  int code = 0;
  {
    asio::io_context io{1};
    NodeIdentity const node{setup.host, static_cast<std::uint32_t>(setup.node.local_world_size),
                            setup.env.get("KUBERNETES_SERVICE_HOST").has_value()};
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
