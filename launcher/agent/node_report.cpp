// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/node_report.hpp"

#include "launcher/diagnose/error_file.hpp"
#include "launcher/environment/file_system.hpp"
#include "rendezvous/base/env_contract.hpp"
#include "rendezvous/base/now.hpp"

#include <unistd.h>

namespace muster::launch {
namespace {

EndedBy ended_by(WorkerEnd const& end) {
  if (end.by_launcher) return EndedBy::launcher;
  return end.status.shell_code() == env::kExitPeerLost ? EndedBy::peer_lost : EndedBy::itself;
}

std::string if_there(std::string const& path) {
  return !path.empty() && ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

}  // namespace

NodeReport make_node_report(AgentSetup const& setup, RoundView const& view,
                            std::vector<WorkerEnd> const& ends, Attempt const& attempt,
                            Tails const& tails, std::function<int(int)> const& pid_of) {
  NodeReport report;
  report.host = setup.host;
  report.boot_id = setup.boot_id;
  report.group_rank = view.group_rank;
  report.round = view.round.value;
  report.restart_count = view.restart_count;
  report.program = setup.options.program;
  auto const wall_now = wall_clock_ns();
  RealFileSystem const files;
  for (auto const& end : ends) {
    if (end.status.success()) continue;
    FailedWorker worker;
    worker.rank = view.rank_base + end.local_rank;
    worker.local_rank = end.local_rank;
    worker.pid = pid_of(end.local_rank);
    worker.exit_code = end.status.code;
    worker.signal = end.status.signal;
    worker.ended_by = ended_by(end);
    worker.boot_ns = end.at.time_since_epoch().count();
    worker.wall_ns = wall_now - (now() - end.at).count();
    auto const& paths = attempt.paths(end.local_rank);
    if (!paths.error_file.empty())
      take_error_file(worker, paths.error_file, files.read(paths.error_file));
    // It was about to fail of itself when we asked it to end.
    if (worker.ended_by == EndedBy::launcher && !worker.message.empty())
      worker.ended_by = EndedBy::itself;
    worker.stdout_log = if_there(paths.out);
    worker.stderr_log = if_there(paths.err);
    if (auto const tail = tails.find(end.local_rank); tail != tails.end())
      worker.stderr_tail = tail->second;
    report.workers.push_back(std::move(worker));
  }
  return report;
}

}  // namespace muster::launch
