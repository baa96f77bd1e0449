// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/process_tree.hpp"

#include "rendezvous/base/now.hpp"
#include "rendezvous/base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::launch {
namespace {

constexpr std::size_t kTreeCapacity = 16'384;  // what does not fit is found by the next pass
struct Member {
  pid_t pid;
  pid_t parent;
};
std::array<Member, kTreeCapacity> tree;  // untouched, hence free, until something must be killed

struct KernelDirent {  // linux_dirent64 of getdents64(2)
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

char* append(char* at, char const* text) {
  while (*text != '\0') *at++ = *text++;
  return at;
}

char* append(char* at, pid_t number) {
  char digits[16];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) *at++ = digits[--count];
  return at;
}

// The whitespace-separated numbers of a /proc/.../children file.
std::size_t read_numbers(char const* path, pid_t* out, std::size_t capacity) {
  UniqueFd const file{::open(path, O_RDONLY | O_CLOEXEC)};
  if (!file) return 0;
  std::size_t count = 0;
  pid_t number = 0;
  bool inside = false;
  char buffer[4096];
  for (;;) {
    auto const got = ::read(file.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        number = number * 10 + (buffer[i] - '0');
        inside = true;
      } else if (inside) {
        if (count < capacity) out[count++] = number;
        number = 0;
        inside = false;
      }
    }
  }
  if (inside && count < capacity) out[count++] = number;
  return count;
}

// The parent that /proc/<pid>/stat names; 0 if the process is gone.
pid_t parent_of(pid_t pid) {
  char path[64];
  *append(append(append(path, "/proc/"), pid), "/stat") = '\0';
  UniqueFd const file{::open(path, O_RDONLY | O_CLOEXEC)};
  if (!file) return 0;
  char buffer[1024];
  auto const got = ::read(file.get(), buffer, sizeof buffer - 1);
  if (got <= 0) return 0;
  buffer[got] = '\0';
  char const* at = std::strrchr(buffer, ')');  // the name may hold anything, ")" included
  if (at == nullptr || at + 4 >= buffer + got) return 0;
  at += 4;  // ") S "
  pid_t parent = 0;
  while (*at >= '0' && *at <= '9') parent = parent * 10 + (*at++ - '0');
  return parent;
}

// Sends through a pidfd, and only if `pid` is still the child of `parent` that we listed, or of the
// root since: the number may have been given to a stranger meanwhile. False: it is over.
bool send_to(Member member, pid_t root, int signal) {
  UniqueFd const handle{static_cast<int>(::syscall(SYS_pidfd_open, member.pid, 0))};
  if (!handle) return false;
  auto const parent = parent_of(member.pid);
  if (parent != member.parent && parent != root) return false;
  pollfd ended{handle.get(), POLLIN, 0};  // a zombie's last thread is gone
  if (::poll(&ended, 1, 0) == 1) return false;
  return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

// Breadth first; each is stopped before its children are listed.
std::size_t stop_tree(pid_t root) {
  std::size_t size = 0;
  std::array<pid_t, 1024> found;
  auto const add = [&](pid_t parent) {
    auto const count = list_children(parent, found.data(), found.size());
    for (std::size_t i = 0; i < count && size < tree.size(); ++i)
      tree[size++] = Member{found[i], parent};
  };
  add(root);
  for (std::size_t next = 0; next < size; ++next)
    if (send_to(tree[next], root, SIGSTOP)) add(tree[next].pid);
  return size;
}

// One pass over the tree below `root`. Returns how many were alive.
int kill_tree(pid_t root) {
  int alive = 0;
  for (auto i = stop_tree(root); i > 0; --i)
    if (send_to(tree[i - 1], root, SIGKILL)) ++alive;
  return alive;
}

// Reaps whoever is dead. True: no child is left.
bool reap_all() {
  for (;;) {
    auto const pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid > 0) continue;
    if (pid == 0) return false;
    if (errno == ECHILD) return true;
  }
}

}  // namespace

std::size_t list_children(pid_t pid, pid_t* out, std::size_t capacity) {
  char folder[64];
  *append(append(append(folder, "/proc/"), pid), "/task") = '\0';
  UniqueFd const tasks{::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!tasks) return 0;
  std::size_t count = 0;
  alignas(KernelDirent) char entries[2048];
  for (;;) {
    auto const bytes = ::syscall(SYS_getdents64, tasks.get(), entries, sizeof entries);
    if (bytes <= 0) return count;
    for (long offset = 0; offset < bytes;) {
      unsigned short length = 0;
      std::memcpy(&length, entries + offset + offsetof(KernelDirent, length), sizeof length);
      char const* const name = entries + offset + offsetof(KernelDirent, name);
      offset += length;
      if (name[0] == '.') continue;
      char path[128];
      *append(append(append(append(path, folder), "/"), name), "/children") = '\0';
      count += read_numbers(path, out + count, capacity - count);
    }
  }
}

bool has_children() {
  siginfo_t found{};
  return ::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TreeEnd end_descendants(Duration patience) {
  TreeEnd end;
  auto const deadline = deadline_in(patience);
  while (!reap_all()) {
    end.killed += kill_tree(::getpid());
    if (reap_all()) break;
    if (deadline.passed(now())) {
      end.complete = false;
      break;
    }
    ::poll(nullptr, 0, 1);  // the kernel needs a moment to take a killed process apart
  }
  return end;
}

TreeEnd end_below(pid_t root, Duration patience) {
  TreeEnd end;
  auto const deadline = deadline_in(patience);
  while (int const alive = kill_tree(root)) {
    end.killed += alive;
    if (deadline.passed(now())) {
      end.complete = false;
      break;
    }
    ::poll(nullptr, 0, 1);
  }
  return end;
}

}  // namespace muster::launch
