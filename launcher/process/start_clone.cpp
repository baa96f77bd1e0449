// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/start_clone.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::launch {
namespace {

constexpr std::uint64_t kFlags = CLONE_VM | CLONE_PIDFD;

#if defined(__x86_64__)

// struct clone_args of <linux/sched.h>, up to the field that 5.7 added.
struct CloneArguments {
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
      set_tid_size, cgroup;
};
constexpr std::uint64_t kIntoCgroup = 0x200000000;  // CLONE_INTO_CGROUP

// The child comes back on another stack, so it may not return through this frame: it calls its
// main right here.
long clone3_call(CloneArguments const& arguments, ChildMain main, void* argument) {
  long result = SYS_clone3;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov %[argument], %%rdi\n\t"
      "call *%[main]\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(&arguments), "S"(sizeof arguments), [main] "r"(main), [argument] "r"(argument)
      : "rcx", "r11", "memory", "cc");
  return result;
}

pid_t start_by_clone3(StartClone const& start, int cgroup, int& pidfd) {
  CloneArguments arguments{};
  arguments.flags = kFlags | (cgroup >= 0 ? kIntoCgroup : 0);
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uintptr_t>(start.stack);
  arguments.stack_size = start.stack_bytes;
  arguments.cgroup = cgroup >= 0 ? static_cast<std::uint64_t>(cgroup) : 0;
  auto const result = clone3_call(arguments, start.main, start.argument);
  if (result > 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

#else

pid_t start_by_clone3(StartClone const&, int, int&) {
  errno = ENOSYS;
  return -1;
}

#endif

}  // namespace

// The C library's clone() comes last: thread sanitizers replace it by one that cannot share memory.
pid_t start_clone(StartClone const& start, int& pidfd) {
  auto const is_final = [](pid_t pid) { return pid > 0 || errno == EAGAIN || errno == ENOMEM; };
  if (start.cgroup >= 0) {
    auto const pid = start_by_clone3(start, start.cgroup, pidfd);
    if (is_final(pid)) return pid;
  }
  auto const pid = start_by_clone3(start, -1, pidfd);
  if (is_final(pid)) return pid;
  return ::clone(start.main, start.stack + start.stack_bytes, static_cast<int>(kFlags) | SIGCHLD,
                 start.argument, &pidfd);
}

}  // namespace muster::launch
