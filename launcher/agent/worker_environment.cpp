// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/worker_environment.hpp"

#include "launcher/logs/safe_substitute.hpp"
#include "rendezvous/base/env_contract.hpp"

namespace muster::launch {
namespace {

// What torchrun's --run-path does in a multiprocessing child: run the file as __main__ and let
// torch's `record`, where torch is, write the error file.
constexpr char kRunPathCode[] =
    "import runpy, sys\n"
    "sys.argv = sys.argv[1:]\n"
    "def run():\n"
    "    runpy.run_path(sys.argv[0], run_name='__main__')\n"
    "try:\n"
    "    from torch.distributed.elastic.multiprocessing.errors import record\n"
    "except ImportError:\n"
    "    record = lambda function: function\n"
    "record(run)()\n";

std::vector<std::string> worker_argv(RunOptions const& options, NodeFacts const& node,
                                     int local_rank) {
  std::vector<std::string> argv;
  auto const add = [&](std::string_view text) {
    argv.push_back(substitute_local_rank(text, local_rank));
  };
  switch (options.entry) {
    case EntryKind::no_python:
      argv.push_back(options.program);  // torchrun does not substitute in the command itself
      break;
    case EntryKind::script:
      argv = {node.interpreter, "-u"};
      add(options.program);
      break;
    case EntryKind::module:
      argv = {node.interpreter, "-u", "-m"};
      add(options.program);
      break;
    case EntryKind::run_path:
      argv = {node.interpreter, "-u", "-c", kRunPathCode};
      add(options.program);
      break;
  }
  for (auto const& arg : options.args) add(arg);
  return argv;
}

// The local_rank-th element of the parent's list, or the rank itself where there is none.
Result<std::string> one_device(EnvView const& parent, int local_rank) {
  auto const list = parent.get(env::kCudaVisibleDevices);
  if (!list || list->empty()) return std::to_string(local_rank);
  std::string_view rest = *list;
  for (int index = 0;; ++index) {
    auto const comma = rest.find(',');
    if (index == local_rank) {
      auto item = rest.substr(0, comma);
      auto const first = item.find_first_not_of(" \t");
      if (first == std::string_view::npos) break;
      return std::string(item.substr(first, item.find_last_not_of(" \t") - first + 1));
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return Error{Errc::bad_input,
               "--virtual-local-rank: CUDA_VISIBLE_DEVICES='" + std::string(*list) +
                   "' has no entry for local rank " + std::to_string(local_rank),
               "name one device per worker, or lower --nproc-per-node"};
}

}  // namespace

Result<WorkerProgram> worker_program(EnvView const& parent, RunOptions const& options,
                                     NodeFacts const& node, RoundView const& round, int local_rank,
                                     std::string const& error_file) {
  WorkerProgram program{worker_argv(options, node, local_rank), parent.all()};
  auto& variables = program.environment;
  auto const set = [&](char const* name, std::string value) {
    variables.insert_or_assign(name, std::move(value));
  };
  set(env::kLocalRank, std::to_string(options.virtual_local_rank ? 0 : local_rank));
  set(env::kRank, std::to_string(round.rank_base + local_rank));
  set(env::kWorldSize, std::to_string(round.world_size));
  set(env::kGroupRank, std::to_string(round.group_rank));
  set(env::kGroupWorldSize, std::to_string(round.group_world_size));
  set(env::kRoleName, options.role);
  set(env::kRoleRank, std::to_string(round.role_rank_base + local_rank));
  set(env::kRoleWorldSize, std::to_string(round.role_world_size));
  set(env::kLocalWorldSize, std::to_string(node.local_world_size));
  set(env::kMasterAddr, round.master_addr);
  set(env::kMasterPort, std::to_string(round.master_port));
  set(env::kRestartCount, std::to_string(round.restart_count));
  set(env::kMaxRestarts, std::to_string(options.max_restarts));
  set(env::kRunId, options.run_id);
  set(env::kUseAgentStore, "True");
  set(env::kErrorFile, error_file);
  set(env::kSignalsToHandle, options.signals_text);
  variables.try_emplace(env::kNcclAsyncErrorHandling, "1");
  if (!round.interface.empty()) {
    variables.try_emplace(env::kNcclSocketIfname, "=" + round.interface);
    variables.try_emplace(env::kGlooSocketIfname, round.interface);
  }
  if (options.virtual_local_rank) {
    MUSTER_TRY(auto device, one_device(parent, local_rank));
    set(env::kCudaVisibleDevices, std::move(device));
  }
  // torchrun's protection of the machine, without its warning. libmuster_worker may use what a rank
  // really has, unless the user answered the question.
  variables.erase(env::kMusterCpus);
  if (!parent.get(env::kOmpNumThreads)) {
    if (node.local_world_size > 1) set(env::kOmpNumThreads, "1");
    set(env::kMusterCpus, std::to_string(node.cpus_per_worker));
  }
  set(env::kMusterRound, std::to_string(round.round.value));
  variables.erase("MUSTER_TOKEN");  // the job's secret is no worker's business
  return program;
}

std::string substitute_local_rank(std::string_view text, int local_rank) {
  return safe_substitute(text, [local_rank](std::string_view name) {
    return name == "local_rank" ? std::optional(std::to_string(local_rank)) : std::nullopt;
  });
}

}  // namespace muster::launch
