// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/guardian.hpp"

#include "launcher/process/channel.hpp"
#include "launcher/process/kept_words.hpp"
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
constexpr Duration kFencePatience = std::chrono::seconds{2};
constexpr Duration kStartPatience = std::chrono::seconds{2};
constexpr int kConsolePatienceMs = 1000;
constexpr char kStartEnded[] =
    "muster: the agent had not started yet, and did not hear the signal; it was ended (does a file "
    "that was named not answer?)\n";
constexpr char kStuck[] = "muster: a process could not be killed (state D: stuck in the kernel)\n";

struct Ward {
  pid_t pid = 0;
  UniqueFd channel;  // unset: signals go by kill() (the first process of a container)
  bool interrupted = false;
  bool begun = false;                     // it hears signals
  TimePoint begin_by = TimePoint::max();  // or it is ended, for one of these came:
  int ended_by = 0;
  Duration patience{};               // how long the agent may be silent
  TimePoint due = TimePoint::max();  // its next word
  bool extended = false;             // since its last word, for we were late ourselves
  Duration mercy{};                  // for a fenced one
  bool fenced = false;               // its workers were ended, it may come back
  bool given_up = false;
  char leaf[sizeof(ChannelPacket::bytes)] = {};  // the workers' cgroup
};

constinit KeptWords words;  // static: the guardian's memory is not to grow with them

// Never held up by a terminal that was stopped, or a pipe that nobody reads, for longer than this.
void say(char const* text) {
  pollfd console{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&console, 1, kConsolePatienceMs) != 1 || (console.revents & POLLOUT) == 0) return;
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nobody left to tell
}

sigset_t forwarded_signals(Inherited const& inherited) {
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

// An agent that has not begun may hang in a file that does not answer, and would never hear.
void hurry(Ward& ward, int signal) {
  if (!ward.channel || ward.begun) return;
  bool const again = signal == SIGINT && ward.ended_by == SIGINT;
  ward.ended_by = signal;
  ward.begin_by = std::min(ward.begin_by, again ? now() : now() + kStartPatience);
}

void judge_start(Ward& ward) {
  if (ward.begun || now() < ward.begin_by) return;
  ward.begin_by = TimePoint::max();
  say(kStartEnded);
  ::kill(ward.pid, SIGKILL);
}

void begun(Ward& ward) {
  ward.begun = true;
  ward.begin_by = TimePoint::max();
  ward.ended_by = 0;
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
  if (!ends_the_job(signal)) return;
  ::kill(ward.pid, SIGCONT);
  hurry(ward, signal);
}

void take_signals(Ward& ward, int signals) {
  signalfd_siginfo came{};
  while (::read(signals, &came, sizeof came) == static_cast<ssize_t>(sizeof came))
    if (came.ssi_signo != SIGCHLD) forward(ward, came);
}

void await_word(Ward& ward, ChannelPacket const& packet) {
  ward.patience = std::chrono::milliseconds{packet.patience_ms};
  ward.mercy = std::chrono::milliseconds{packet.mercy_ms};
  ward.due = packet.patience_ms > 0 ? now() + ward.patience : TimePoint::max();
  ward.extended = ward.fenced = false;
}

int poll_timeout(Ward const& ward) {
  auto const due = std::min(ward.due, ward.begin_by);
  if (due == TimePoint::max()) return -1;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(due - now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void kill_leaf(char const* leaf) {
  if (leaf[0] == '\0') return;
  UniqueFd const folder{::open(leaf, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  UniqueFd const file{::openat(folder.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC)};
  if (file && ::write(file.get(), "1", 1) < 0) return;  // older kernels: the sweep does it
}

// The notice goes first: the agent knows why before it sees a worker's end.
void fence(Ward& ward) {
  ward.fenced = true;
  ward.extended = false;
  ward.due = now() + ward.mercy;
  ChannelPacket packet;
  packet.notice = Notice::fenced;
  ::send(ward.channel.get(), &packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL);
  kill_leaf(ward.leaf);
  bool const complete = end_below(ward.pid, kFencePatience).complete;
  say("muster: the agent has not run for so long that the other nodes may go on without this one; "
      "its workers were ended (who stopped it, or starved the machine?)\n");
  if (!complete) say(kStuck);
}

// A silent agent (stopped, starved) holds no lease any more: the other nodes go on without us, and
// our workers must not. It may come back later. Where we were late, too (the machine was paused),
// it gets one more chance.
void judge_silence(Ward& ward) {
  auto const at = now();
  if (at < ward.due) return;
  bool const late = at > ward.due + kOwnLateness;
  if (late && !std::exchange(ward.extended, true)) {
    ward.due = at + ward.patience;
    return;
  }
  if (!ward.fenced) return fence(ward);
  ward.due = TimePoint::max();
  ward.given_up = true;
  ::kill(ward.pid, SIGKILL);
}

// One packet, and the connection that rode along. False: there is none.
bool receive(int channel, ChannelPacket& packet, UniqueFd& connection) {
  iovec part{&packet, sizeof packet};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto const got = ::recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (auto const* head = CMSG_FIRSTHDR(&message); got >= 0 && head != nullptr &&
                                                  head->cmsg_level == SOL_SOCKET &&
                                                  head->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    connection.reset(descriptor);
  }
  return got == static_cast<ssize_t>(sizeof packet);
}

void take_packets(Ward& ward) {
  ChannelPacket packet;
  for (UniqueFd connection; receive(ward.channel.get(), packet, connection);) {
    if (packet.notice == Notice::suspend) ::raise(SIGSTOP);
    if (packet.notice == Notice::begun) begun(ward);
    if (packet.notice == Notice::alive) await_word(ward, packet);
    if (packet.notice == Notice::leaf) std::memcpy(ward.leaf, packet.bytes, sizeof ward.leaf - 1);
    if (packet.notice == Notice::last_word) words.take(packet, std::move(connection));
    if (packet.notice == Notice::finished) words.forget();
    connection.reset();
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

int watch(Ward& ward, Inherited const& inherited) {
  auto const set = forwarded_signals(inherited);
  UniqueFd const signals{::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
  int status = 0;
  std::array<pollfd, 2> watched{{{signals.get(), POLLIN, 0}, {ward.channel.get(), POLLIN, 0}}};
  while (!reap(ward.pid, status)) {  // SIGCHLD wakes the poll, so no death is missed
    ::poll(watched.data(), watched.size(), poll_timeout(ward));
    take_signals(ward, signals.get());
    if (ward.channel) take_packets(ward);
    judge_start(ward);
    judge_silence(ward);
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
std::optional<int> stand_in_for_init(Inherited const& inherited) {
  auto const pid = ::fork();
  if (pid < 0) return std::nullopt;  // go on without: only strangers' orphans are at risk
  if (pid == 0) return std::nullopt;
  Ward ward;
  ward.pid = pid;
  return exit_code_of_status(watch(ward, inherited));
}

int guard(Ward& ward, Inherited const& inherited) {
  int const status = watch(ward, inherited);
  take_packets(ward);  // what the agent wrote last
  bool const never_begun = ward.ended_by != 0 && WIFSIGNALED(status);
  auto const end = end_descendants(std::chrono::seconds{10});
  if (end.complete) words.speak();               // the proof that this node's workers are dead
  if (ward.leaf[0] != '\0') ::rmdir(ward.leaf);  // fails where the agent has done it
  if (ward.given_up)
    say("muster: the agent did not run again after its workers were ended; it was ended, too\n");
  else if (WIFSIGNALED(status) && !never_begun)
    say("muster: the agent was killed; its workers were ended with it (find out who killed it: "
        "the kernel log names the OOM killer)\n");
  if (!end.complete) say(kStuck);
  int const code = ward.given_up ? exit_code_of(Errc::fenced)
                   : never_begun ? 128 + ward.ended_by
                                 : exit_code_of_status(status);
  if (code == 128 + SIGINT && ward.interrupted) die_of(SIGINT);
  return code;
}

void keep_standard_descriptors_open() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0)
      if (::open("/dev/null", O_RDWR) != fd) return;  // the lowest free number is fd itself
}

}  // namespace

std::optional<int> split_into_guardian_and_agent(Inherited const& inherited, AgentSeat& seat) {
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
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // until it hears of that itself
    if (::getppid() != guardian) ::_exit(128 + SIGKILL);
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
