// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/node_report.hpp"

#include "launcher/diagnose/error_file.hpp"
#include "launcher/environment/file_system.hpp"
#include "launcher/logs/file_tail.hpp"
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

// What the worker itself left on the disk.
void add_files(FailedWorker& worker, WorkerPaths const& paths) {
  RealFileSystem const files;
  if (!paths.error_file.empty())
    take_error_file(worker, paths.error_file, files.read(paths.error_file));
  // It was about to fail of itself when we asked it to end.
  if (worker.ended_by == EndedBy::launcher && !worker.message.empty())
    worker.ended_by = EndedBy::itself;
  worker.stdout_log = if_there(paths.out);
  worker.stderr_log = if_there(paths.err);
  if (worker.stderr_tail.empty() && !worker.stderr_log.empty())
    worker.stderr_tail = tail_of_file(worker.stderr_log);
}

FailedWorker failed_worker(RoundEnds const& round, WorkerEnd const& end) {
  auto const index = static_cast<std::size_t>(end.local_rank);
  FailedWorker worker;
  worker.rank = round.view.rank_base + end.local_rank;
  worker.local_rank = end.local_rank;
  worker.pid = round.pids.at(index);
  worker.exit_code = end.status.code;
  worker.signal = end.status.signal;
  worker.ended_by = ended_by(end);
  worker.boot_ns = end.at.time_since_epoch().count();
  worker.wall_ns = wall_clock_ns() - (now() - end.at).count();
  if (auto const tail = round.tails.find(end.local_rank); tail != round.tails.end())
    worker.stderr_tail = tail->second;
  return worker;
}

}  // namespace

NodeReport make_bare_report(AgentSetup const& setup, RoundEnds const& round) {
  NodeReport report;
  report.host = setup.host;
  report.boot_id = setup.boot_id;
  report.group_rank = round.view.group_rank;
  report.round = round.view.round.value;
  report.restart_count = round.view.restart_count;
  report.program = setup.options.program;
  for (auto const& end : round.ends)
    if (!end.status.success()) report.workers.push_back(failed_worker(round, end));
  return report;
}

NodeReport make_node_report(AgentSetup const& setup, RoundEnds const& round) {
  auto report = make_bare_report(setup, round);
  for (auto& worker : report.workers)
    add_files(worker, round.paths.at(static_cast<std::size_t>(worker.local_rank)));
  return report;
}

}  // namespace muster::launch
