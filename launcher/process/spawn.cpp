// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/spawn.hpp"

#include "launcher/process/start_clone.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

// What runs in the child must not touch the sanitizers' books: they are the parent's.
#define MUSTER_CHILD_CODE __attribute__((no_sanitize("address", "thread", "undefined")))

namespace muster::launch {
namespace {

constexpr std::size_t kStackBytes = 16 * 1024;  // for a dozen system calls

enum class StartStep { none, death_signal, session, descriptors, affinity, exec };

struct Failure {  // what a child reports through the pipe, which closes by itself at exec
  std::size_t index;
  StartStep step;
  int error_number;
};

// What one child reads. In our memory, so it has to stay until the child has executed.
struct Start {
  std::size_t index = 0;
  char const* path = nullptr;
  std::vector<char*> argv, environment;
  int wanted[3] = {0, 1, 2};
  bool bound = false;
  cpu_set_t cpus{};
  sigset_t mask{};
  bool ignore_child_signal = false;
  bool limited = false;  // by `limits`
  InheritedLimits limits;
  pid_t parent = 0;
  int report = -1;
};

class Stacks {
 public:
  explicit Stacks(std::size_t count) : bytes_(count * kStackBytes) {
    auto* const made = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (made != MAP_FAILED) base_ = static_cast<char*>(made);
  }
  ~Stacks() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
  }
  Stacks(Stacks const&) = delete;
  Stacks& operator=(Stacks const&) = delete;

  char* at(std::size_t index) const {
    return base_ == nullptr ? nullptr : base_ + index * kStackBytes;
  }

 private:
  std::size_t bytes_;
  char* base_ = nullptr;
};

[[noreturn]] MUSTER_CHILD_CODE void give_up(Start const& start, StartStep step) {
  Failure const failure{start.index, step, errno};
  // Short enough to be one piece; if even that fails the exit code has to do.
  if (::write(start.report, &failure, sizeof failure) < 0) ::_exit(126);
  ::_exit(127);
}

// What cannot be given back was not taken either: no failure.
MUSTER_CHILD_CODE void give_back(InheritedLimits const& found) {
  ::setrlimit(RLIMIT_NOFILE, &found.files);
  ::setrlimit(RLIMIT_MEMLOCK, &found.locked_memory);
  ::setpriority(PRIO_PROCESS, 0, found.nice);
}

// Plain system calls only. errno is the parent's own, which therefore looks at it right after a
// call, and only then.
MUSTER_CHILD_CODE int become(void* raw) {
  auto const& start = *static_cast<Start const*>(raw);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(start, StartStep::death_signal);
  if (::getppid() != start.parent) ::_exit(127);  // the parent died before the line above
  if (::setsid() < 0) give_up(start, StartStep::session);
  for (int target = 0; target < 3; ++target) {
    int const fd = start.wanted[target];
    if (fd != target && ::dup2(fd, target) < 0) give_up(start, StartStep::descriptors);
  }
  // Ours are close-on-exec from birth; this also covers what muster's own parent left open.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  if (start.bound && ::sched_setaffinity(0, sizeof(cpu_set_t), &start.cpus) != 0)
    give_up(start, StartStep::affinity);
  if (start.limited) give_back(start.limits);
  if (start.ignore_child_signal) {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &start.mask, nullptr);
  ::execve(start.path, start.argv.data(), start.environment.data());
  give_up(start, StartStep::exec);
}

std::vector<char*> pointers(std::vector<std::string> const& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto const& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

void fill(Start& start, Command const& command, Inherited const& inherited) {
  start.path = command.path.c_str();
  start.argv = pointers(command.argv);
  start.environment = pointers(command.environment);
  start.wanted[0] = command.in;
  start.wanted[1] = command.out;
  start.wanted[2] = command.err;
  start.bound = !command.cpus.empty();
  for (int const cpu : command.cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &start.cpus);
  start.mask = inherited.mask;
  start.ignore_child_signal = inherited.child_ignored;
  start.limited = inherited.limits.has_value();
  if (inherited.limits) start.limits = *inherited.limits;
  start.parent = ::getpid();
}

Error exec_error(std::string const& path, int number) {
  auto const what = "cannot run '" + path + "': ";
  switch (number) {
    case ENOENT:
      if (::access(path.c_str(), F_OK) == 0)
        return {Errc::not_found, what + "the interpreter of its first line (#!) does not exist",
                "correct the first line, or start it with the interpreter by name"};
      return {Errc::not_found, what + "no such file", "check the path"};
    case EACCES:
      return {Errc::permission, what + "permission denied",
              "chmod +x it, and see that its file system is not mounted noexec"};
    case ENOEXEC:
      return {Errc::bad_input, what + "it is no program for this machine, and has no #! line",
              "give the script a first line such as #!/bin/sh"};
    case E2BIG:
      return {Errc::bad_input, what + "arguments and environment are too long",
              "pass the long ones in a file"};
    case ENOMEM:
      return {Errc::limit, what + "out of memory", "start fewer workers on this node"};
    default:
      return {Errc::system, what + std::strerror(number), ""};
  }
}

Error clone_error(int number) {
  if (number == EMFILE || number == ENFILE) return from_errno(number, "cannot start a process");
  auto const what = "cannot start a process: " + std::string(std::strerror(number));
  if (number == ENOMEM) return {Errc::limit, what, "start fewer workers on this node"};
  return {Errc::limit, what,
          "raise the limit of processes (ulimit -u, pids.max of the cgroup), or start fewer"};
}

Error start_error(Failure const& failure, Command const& command) {
  auto const why = std::string(std::strerror(failure.error_number));
  switch (failure.step) {
    case StartStep::death_signal:
      return {Errc::system, "prctl(PR_SET_PDEATHSIG): " + why, ""};
    case StartStep::session:
      return {Errc::system, "setsid: " + why, ""};
    case StartStep::descriptors:
      return {Errc::system, "dup2 of a worker's standard streams: " + why, ""};
    case StartStep::affinity:
      return {Errc::bad_input, "the worker's processors cannot be set: " + why,
              "the processors asked for must be inside muster's own set (taskset -p $$)"};
    case StartStep::exec:
    case StartStep::none:
      break;
  }
  return exec_error(command.path, failure.error_number);
}

}  // namespace

struct Spawning::Batch {
  explicit Batch(std::vector<Command> given)
      : commands(std::move(given)), starts(commands.size()), stacks(commands.size()) {}
  std::vector<Command> commands;
  std::vector<Start> starts;
  Stacks stacks;
};

Spawning::Spawning(std::vector<Command> commands, Inherited const& inherited)
    : batch_(std::make_unique<Batch>(std::move(commands))) {
  auto pipe = make_pipe();
  if (pipe && ::fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK) != 0)
    pipe = from_errno(errno, "making a pipe non-blocking");
  if (!pipe) {
    note(0, pipe.error());
    return;
  }
  start_all(inherited, pipe->write_end.get());
  report_ = std::move(pipe->read_end);
}

Spawning::Spawning(Spawning&&) noexcept = default;

Spawning::~Spawning() {
  if (batch_ && !finished()) static_cast<void>(batch_.release());  // a child may yet wake up in it
}

void Spawning::start_all(Inherited const& inherited, int report) {
  auto& [commands, starts, stacks] = *batch_;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    fill(starts[i], commands[i], inherited);
    starts[i].index = i;
    starts[i].report = report;
    int pidfd = -1;
    StartClone const clone{become, &starts[i], stacks.at(i), kStackBytes, commands[i].cgroup};
    auto const pid = clone.stack == nullptr ? -1 : start_clone(clone, pidfd);
    if (pid < 0) return note(i, clone_error(errno));
    children_.emplace_back(pid, UniqueFd{pidfd});
  }
}

std::vector<Child> Spawning::take_children() {
  return std::exchange(children_, {});
}

int Spawning::report() const {
  return report_.get();
}

void Spawning::note(std::size_t index, Error error) {
  if (error_ && failed_ <= index) return;
  error_ = std::move(error);
  failed_ = index;
}

// The end of the pipe: its last write end was closed, by exec or by an end.
bool Spawning::finished() {
  while (report_) {
    Failure failure{};
    auto const got = ::read(report_.get(), &failure, sizeof failure);
    if (got < 0) return false;
    if (got == 0) report_.reset();
    if (got == static_cast<ssize_t>(sizeof failure))
      note(failure.index, start_error(failure, batch_->commands[failure.index]));
  }
  return true;
}

int exit_code_of_spawn(Error const& error) {
  if (error.code == Errc::not_found) return 127;
  if (error.code == Errc::permission || error.code == Errc::bad_input) return 126;
  return exit_code_of(error.code);
}

}  // namespace muster::launch
