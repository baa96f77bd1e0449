// SPDX-License-Identifier: Apache-2.0
// stamp_worker FILE NODE: a worker that appends a line to FILE when it comes up, when it is told to
// stop (SIGTERM, then it exits 0) and when it fails (SIGUSR1, then it exits 1):
// EVENT NANOSECONDS NODE RANK ROUND PID, by CLOCK_BOOTTIME. So no fork, and no other program's
// being late, is part of what a bench measures.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace {

struct Stamps {
  int file;
  char const* node;
  char const* rank;
  char const* round;

  // One write: lines of several workers never mix. False where the file cannot be written.
  bool note(char const* event) const {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    auto const nanoseconds = now.tv_sec * 1'000'000'000LL + now.tv_nsec;
    std::array<char, 256> line{};
    int const length = std::snprintf(line.data(), line.size(), "%s %lld %s %s %s %d\n", event,
                                     nanoseconds, node, rank, round, ::getpid());
    if (length < 0 || length >= static_cast<int>(line.size())) return false;
    return ::write(file, line.data(), static_cast<std::size_t>(length)) == length;
  }
};

char const* variable(char const* name) {
  char const* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : "-";
}

int run(Stamps const& stamps, sigset_t const& awaited) {
  if (!stamps.note("up")) return 2;
  while (true) {
    switch (::sigwaitinfo(&awaited, nullptr)) {
      case SIGTERM:
        return stamps.note("told") ? 0 : 2;
      case SIGUSR1:
        stamps.note("failed");
        ::_exit(1);  // at once: the time from the stamp to the end is part of what is measured
      default:
        break;  // interrupted: a debugger, SIGCONT
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("stamp_worker FILE NODE\n", stderr);
    return 2;
  }
  // Before the first line: whoever reads it may send a signal.
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGTERM);
  ::sigaddset(&awaited, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);
  int const file = ::open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    std::perror(argv[1]);
    return 2;
  }
  return run({file, argv[2], variable("RANK"), variable("MUSTER_ROUND")}, awaited);
}
