// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/spawn.hpp"

#include "launcher/process/start_clone.hpp"
#include "rendezvous/base/now.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// What runs in the child must not touch the sanitizers' books: they are the parent's.
#define MUSTER_CHILD_CODE __attribute__((no_sanitize("address", "thread", "undefined")))

namespace muster::launch {
namespace {

constexpr std::size_t kStackBytes = 16 * 1024;  // for a dozen system calls
constexpr Duration kExecPatience = std::chrono::seconds{20};

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
  sigset_t const* mask = nullptr;
  bool ignore_child_signal = false;
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

struct Batch {
  explicit Batch(std::size_t count) : starts(count), stacks(count) {}
  std::vector<Start> starts;
  Stacks stacks;
};

[[noreturn]] MUSTER_CHILD_CODE void give_up(Start const& start, StartStep step) {
  Failure const failure{start.index, step, errno};
  // Short enough to be one piece; if even that fails the exit code has to do.
  if (::write(start.report, &failure, sizeof failure) < 0) ::_exit(126);
  ::_exit(127);
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
  if (start.ignore_child_signal) {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, start.mask, nullptr);
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

void fill(Start& start, Command const& command, InheritedSignals const& inherited) {
  start.path = command.path.c_str();
  start.argv = pointers(command.argv);
  start.environment = pointers(command.environment);
  start.wanted[0] = command.in;
  start.wanted[1] = command.out;
  start.wanted[2] = command.err;
  start.bound = !command.cpus.empty();
  for (int const cpu : command.cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &start.cpus);
  start.mask = &inherited.mask;
  start.ignore_child_signal = inherited.child_ignored;
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

void note(Spawned& spawned, std::size_t index, Error error) {
  if (spawned.error && spawned.failed <= index) return;
  spawned.error = std::move(error);
  spawned.failed = index;
}

// Reads failures until every child has executed or ended: then the last write end is closed. False:
// a child neither executes nor fails (a dead file server).
bool await_exec(int report, std::span<Command const> commands, Spawned& spawned) {
  auto const deadline = deadline_in(kExecPatience);
  for (;;) {
    auto const left = deadline.left(now()) / std::chrono::milliseconds{1};
    pollfd watched{report, POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(left)) == 0) return false;
    Failure failure{};
    auto const got = ::read(report, &failure, sizeof failure);
    if (got == 0) return true;
    if (got == static_cast<ssize_t>(sizeof failure))
      note(spawned, failure.index, start_error(failure, commands[failure.index]));
  }
}

}  // namespace

Spawned spawn_all(std::span<Command const> commands, InheritedSignals const& inherited) {
  Spawned spawned;
  auto batch = std::make_unique<Batch>(commands.size());
  auto pipe = make_pipe();
  if (!pipe) {
    spawned.error = pipe.error();
    return spawned;
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto& start = batch->starts[i];
    fill(start, commands[i], inherited);
    start.index = i;
    start.report = pipe->write_end.get();
    int pidfd = -1;
    StartClone const clone{become, &start, batch->stacks.at(i), kStackBytes, commands[i].cgroup};
    auto const pid = clone.stack == nullptr ? -1 : start_clone(clone, pidfd);
    if (pid < 0) {
      note(spawned, i, clone_error(errno));
      break;
    }
    spawned.children.emplace_back(pid, UniqueFd{pidfd});
  }
  pipe->write_end.reset();
  if (!await_exec(pipe->read_end.get(), commands, spawned)) {
    note(spawned, 0,
         Error{Errc::timeout, "a worker's program could not be loaded within 20 s",
               "the file system that holds it does not answer"});
    static_cast<void>(batch.release());  // a child may still wake up in it
  }
  return spawned;
}

int exit_code_of_spawn(Error const& error) {
  if (error.code == Errc::not_found) return 127;
  if (error.code == Errc::permission || error.code == Errc::bad_input) return 126;
  return exit_code_of(error.code);
}

}  // namespace muster::launch
