// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/privilege.hpp"

#include "rendezvous/base/unique_fd.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace muster::launch {
namespace {

constexpr int kNiceStep = -5;
constexpr int kScoreStep = -500;
constexpr int kLowestScore = -998;  // never "unkillable", nor below what Kubernetes gives its own

UniqueFd open_score() {
  return UniqueFd{::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC)};
}

bool write_score(int score) {
  auto const file = open_score();
  auto const text = std::to_string(score);
  return file && ::write(file.get(), text.data(), text.size()) > 0;
}

std::optional<int> read_score() {
  auto const file = open_score();
  char text[16] = {};
  if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return std::nullopt;
  return std::atoi(text);
}

// Whether the limit means nothing to us (CAP_IPC_LOCK, and in the first user namespace at that):
// the only way to know is to lock a page beyond it.
bool may_lock_beyond_limit() {
  rlimit found{};
  if (::getrlimit(RLIMIT_MEMLOCK, &found) != 0) return false;
  rlimit const nothing{0, found.rlim_max};
  if (::setrlimit(RLIMIT_MEMLOCK, &nothing) != 0) return false;
  char probe = 0;
  bool const locked = ::mlock(&probe, 1) == 0;
  if (locked) ::munlock(&probe, 1);
  ::setrlimit(RLIMIT_MEMLOCK, &found);
  return locked;
}

// With a limit, whatever is mapped beyond it later would fail, the stack of a thread included. So
// only where there is none.
void lock_memory() {
  rlimit const none{RLIM_INFINITY, RLIM_INFINITY};
  if (may_lock_beyond_limit() || ::setrlimit(RLIMIT_MEMLOCK, &none) == 0)
    ::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

}  // namespace

void Privilege::take_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void Privilege::take_priority() {
  ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + kNiceStep);
}

void Privilege::before_start() {
  if (found_score_) write_score(*std::exchange(found_score_, std::nullopt));
}

void Privilege::after_start() {
  auto const found = read_score();
  if (found && *found > kLowestScore && write_score(std::max(*found + kScoreStep, kLowestScore)))
    found_score_ = found;
  if (!std::exchange(tried_memory_, true)) lock_memory();
}

}  // namespace muster::launch
