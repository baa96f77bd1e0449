// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/guardian.hpp"

#include "launcher/process/channel.hpp"
#include "launcher/process/process_tree.hpp"
#include "rendezvous/base/error.hpp"
#include "rendezvous/base/now.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace muster::launch {
namespace {

constexpr std::array kForwarded{SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

constexpr Duration kOwnLateness = std::chrono::milliseconds{500};

struct Ward {
  pid_t pid = 0;
  UniqueFd channel;  // unset: signals go by kill() (the first process of a container)
  bool interrupted = false;
  Duration patience{};               // how long the agent may be silent
  TimePoint due = TimePoint::max();  // its next word
  bool extended = false;             // since its last word, for we were late ourselves
  bool fenced = false;
  char leaf[sizeof(ChannelPacket::path)] = {};  // the workers' cgroup
};

void say(char const* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nobody left to tell
}

sigset_t forwarded_signals(InheritedSignals const& inherited) {
  sigset_t set;
  sigemptyset(&set);
  for (int const signal : kForwarded)
    if (!inherited.is_ignored(signal)) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

bool ends_the_job(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

void send_signal_packet(Ward const& ward, signalfd_siginfo const& came) {
  auto const signal = static_cast<int>(came.ssi_signo);
  bool const by_process = came.ssi_code == SI_USER || came.ssi_code == SI_QUEUE;
  ChannelPacket packet;
  packet.signal = signal;
  packet.sender_pid = by_process ? static_cast<std::int32_t>(came.ssi_pid) : 0;
  // Full only if the agent is stopped: then kill() reaches it when it goes on.
  if (::send(ward.channel.get(), &packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    ::kill(ward.pid, signal);
}

void forward(Ward& ward, signalfd_siginfo const& came) {
  auto const signal = static_cast<int>(came.ssi_signo);
  if (signal == SIGINT) ward.interrupted = true;
  if (ward.channel) {
    send_signal_packet(ward, came);
  } else {
    ::kill(ward.pid, signal);
  }
  // A stopped agent could not obey, and the job would never end.
  if (ends_the_job(signal)) ::kill(ward.pid, SIGCONT);
}

void take_signals(Ward& ward, int signals) {
  signalfd_siginfo came{};
  while (::read(signals, &came, sizeof came) == static_cast<ssize_t>(sizeof came))
    if (came.ssi_signo != SIGCHLD) forward(ward, came);
}

void await_word(Ward& ward, std::uint32_t patience_ms) {
  ward.patience = std::chrono::milliseconds{patience_ms};
  ward.due = patience_ms > 0 ? now() + ward.patience : TimePoint::max();
  ward.extended = false;
}

int poll_timeout(Ward const& ward) {
  if (ward.due == TimePoint::max()) return -1;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(ward.due - now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

// A silent agent (stopped, starved) holds no lease any more: the other nodes go on without us, and
// our workers must not. Where we were late, too (the machine was paused), it gets one more chance.
void fence_if_silent(Ward& ward) {
  auto const at = now();
  if (at < ward.due) return;
  bool const late = at > ward.due + kOwnLateness;
  if (late && !std::exchange(ward.extended, true)) {
    ward.due = at + ward.patience;
    return;
  }
  ward.due = TimePoint::max();
  ward.fenced = true;
  ::kill(ward.pid, SIGKILL);
}

void take_packets(Ward& ward) {
  ChannelPacket packet;
  while (::recv(ward.channel.get(), &packet, sizeof packet, MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof packet)) {
    if (packet.notice == Notice::suspend) ::raise(SIGSTOP);
    if (packet.notice == Notice::alive) await_word(ward, packet.patience_ms);
    if (packet.notice == Notice::leaf) std::memcpy(ward.leaf, packet.path, sizeof ward.leaf - 1);
  }
}

// Reaps orphans; true with its status when the ward is among the dead.
bool reap(pid_t ward, int& status) {
  for (;;) {
    int one = 0;
    auto const pid = ::waitpid(-1, &one, WNOHANG);
    if (pid == ward) {
      status = one;
      return true;
    }
    if (pid == 0 || (pid < 0 && errno != EINTR)) return false;
  }
}

int watch(Ward& ward, InheritedSignals const& inherited) {
  auto const set = forwarded_signals(inherited);
  UniqueFd const signals{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
  int status = 0;
  std::array<pollfd, 2> watched{{{signals.get(), POLLIN, 0}, {ward.channel.get(), POLLIN, 0}}};
  while (!reap(ward.pid, status)) {  // SIGCHLD wakes the poll, so no death is missed
    ::poll(watched.data(), watched.size(), poll_timeout(ward));
    take_signals(ward, signals.get());
    if (ward.channel) take_packets(ward);
    fence_if_silent(ward);
    if ((watched[1].revents & POLLHUP) != 0) watched[1].fd = -1;  // the agent is ending
  }
  return status;
}

[[noreturn]] void die_of(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);  // the first process of a container cannot die of a signal
}

int exit_code_of_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The first process of a container reaps and signals for all; our own tree hangs below its child,
// so that strangers who were handed to us (docker exec) are never taken for ours.
std::optional<int> stand_in_for_init(InheritedSignals const& inherited) {
  auto const pid = ::fork();
  if (pid < 0) return std::nullopt;  // go on without: only strangers' orphans are at risk
  if (pid == 0) return std::nullopt;
  Ward ward;
  ward.pid = pid;
  return exit_code_of_status(watch(ward, inherited));
}

int guard(Ward& ward, InheritedSignals const& inherited) {
  int const status = watch(ward, inherited);
  auto const end = end_descendants(std::chrono::seconds{10});
  if (ward.leaf[0] != '\0') ::rmdir(ward.leaf);  // fails where the agent has done it
  if (ward.fenced)
    say("muster: the agent did not run for so long that the other nodes gave this one up; it was "
        "ended with its workers (who stopped it, or starved the machine?)\n");
  else if (WIFSIGNALED(status))
    say("muster: the agent was killed; its workers were ended with it (find out who killed it: "
        "the kernel log names the OOM killer)\n");
  if (!end.complete)
    say("muster: a process could not be killed within 10 s (state D: stuck in the kernel)\n");
  int const code = ward.fenced ? exit_code_of(Errc::fenced) : exit_code_of_status(status);
  if (code == 128 + SIGINT && ward.interrupted) die_of(SIGINT);
  return code;
}

void keep_standard_descriptors_open() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0)
      if (::open("/dev/null", O_RDWR) != fd) return;  // the lowest free number is fd itself
}

}  // namespace

std::optional<int> split_into_guardian_and_agent(InheritedSignals const& inherited,
                                                 AgentSeat& seat) {
  keep_standard_descriptors_open();
  if (::getpid() == 1)
    if (auto const code = stand_in_for_init(inherited)) return code;
  int ends[2] = {-1, -1};
  auto const guardian = ::getpid();
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    say("muster: cannot set up the guardian (subreaper, socket pair)\n");
    return 95;
  }
  auto const pid = ::fork();
  if (pid < 0) {
    say("muster: cannot fork: the limit of processes is reached (ulimit -u, pids.max)\n");
    return 1;
  }
  if (pid == 0) {
    ::close(ends[0]);
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited over fork
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    seat = AgentSeat{guardian, ends[1]};
    return std::nullopt;
  }
  ::close(ends[1]);
  Ward ward;
  ward.pid = pid;
  ward.channel.reset(ends[0]);
  return guard(ward, inherited);
}

}  // namespace muster::launch
