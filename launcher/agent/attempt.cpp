// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/attempt.hpp"

#include "launcher/environment/file_system.hpp"
#include "launcher/logs/line_prefix.hpp"
#include "launcher/logs/run_folder.hpp"
#include "launcher/logs/stream_plan.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace muster::launch {
namespace {

// What execve() is given: a name without a slash is searched in the worker's own PATH. Not found:
// the name itself, so that the start fails as the system says.
std::string program_path(WorkerProgram const& program) {
  auto const& name = program.argv.front();
  if (name.find('/') != std::string::npos) return name;
  auto const path = program.environment.find("PATH");
  RealFileSystem const files;
  return find_executable(files, path == program.environment.end() ? "" : path->second, name)
      .value_or(name);
}

// A pipe whose reader never blocks. The flag belongs to the read end alone, the worker's end stays
// an ordinary one.
Result<Pipe> make_drained_pipe() {
  MUSTER_TRY(auto pipe, make_pipe());
  if (::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK) != 0)
    return from_errno(errno, "making a pipe non-blocking");
  return pipe;
}

}  // namespace

Result<Attempt> Attempt::prepare(AgentSetup const& setup, std::string const& run_folder,
                                 RoundView const& view) {
  Attempt attempt;
  attempt.view_ = view;
  attempt.stderr_is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  attempt.null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!attempt.null_) return from_errno(errno, "opening /dev/null");
  auto const workers = static_cast<std::size_t>(setup.node.local_world_size);
  attempt.paths_.resize(workers);
  if (run_folder.empty()) return attempt;
  attempt.folder_ = run_folder + "/" + attempt_folder_name(view.restart_count, view.repeat);
  MUSTER_CHECK(make_folder(attempt.folder_));
  for (std::size_t i = 0; i < workers; ++i) {
    attempt.paths_[i] = worker_paths(attempt.folder_, static_cast<int>(i));
    MUSTER_CHECK(make_folder(attempt.paths_[i].folder));
  }
  return attempt;
}

WorkerPaths const& Attempt::paths(int local_rank) const {
  return paths_.at(static_cast<std::size_t>(local_rank));
}

Result<SinkPointer> Attempt::filtered(bool is_stderr) {
  auto& sink = filtered_[is_stderr ? 1 : 0];
  if (!sink) {
    auto const path = filtered_path(folder_, is_stderr);
    MUSTER_TRY(auto file, open_log(path));
    sink = std::make_shared<Sink>(std::move(file), path);
  }
  return sink;
}

// The descriptor of the worker's stdout or stderr; the pump gets its stream if it has a part.
Result<int> Attempt::connect(AgentSetup const& setup, int local_rank, bool is_stderr,
                             ReadyWorkers& ready) {
  ConsoleFacts const facts{view_.world_size == 1, stderr_is_terminal_};
  auto const& options = setup.options;
  PumpStream stream;
  stream.local_rank = local_rank;
  stream.is_stderr = is_stderr;
  stream.plan = plan_stream(options, facts, local_rank, is_stderr);
  auto const& plan = stream.plan;
  int descriptor = is_stderr ? STDERR_FILENO : STDOUT_FILENO;
  if (plan.end == StreamEnd::inherited) return descriptor;
  if (plan.end == StreamEnd::null) return null_.get();
  if (plan.to_file) {
    auto const& path = is_stderr ? paths(local_rank).err : paths(local_rank).out;
    MUSTER_TRY(auto file, open_log(path));
    if (plan.end == StreamEnd::file) {
      descriptor = file.get();
      ready.held.push_back(std::move(file));
    } else {
      stream.file = std::make_shared<Sink>(std::move(file), path);
    }
  }
  if (plan.end == StreamEnd::pipe) {
    MUSTER_TRY(auto pipe, make_drained_pipe());
    descriptor = pipe.write_end.get();
    ready.held.push_back(std::move(pipe.write_end));
    stream.read_end = std::move(pipe.read_end);
  }
  if (!plan.needles.empty()) {
    MUSTER_TRY(stream.filtered, filtered(is_stderr));
  }
  stream.prefix = line_prefix(options.log_line_prefix_template,
                              {options.role, local_rank, view_.rank_base + local_rank});
  if (plan.end == StreamEnd::pipe) ready.streams.push_back(std::move(stream));
  return descriptor;
}

Result<void> Attempt::add(AgentSetup const& setup, int local_rank, ReadyWorkers& ready) {
  MUSTER_TRY(auto program, worker_program(setup.env, setup.options, setup.node, view_, local_rank,
                                          paths(local_rank).error_file));
  Command command;
  command.path = program_path(program);
  command.argv = std::move(program.argv);
  for (auto const& [name, value] : program.environment)
    command.environment.push_back(name + "=" + value);
  command.in = view_.world_size == 1 ? STDIN_FILENO : null_.get();
  if (!setup.cpus.empty()) command.cpus = setup.cpus.at(static_cast<std::size_t>(local_rank));
  MUSTER_TRY(command.out, connect(setup, local_rank, false, ready));
  MUSTER_TRY(command.err, connect(setup, local_rank, true, ready));
  ready.commands.push_back(std::move(command));
  return ok();
}

Result<ReadyWorkers> Attempt::ready(AgentSetup const& setup) {
  ReadyWorkers ready;
  for (int local_rank = 0; local_rank < setup.node.local_world_size; ++local_rank)
    MUSTER_CHECK(add(setup, local_rank, ready));
  return ready;
}

}  // namespace muster::launch
