// SPDX-License-Identifier: Apache-2.0
#include "launcher/process/cgroup_leaf.hpp"

#include "launcher/process/start_clone.hpp"
#include "rendezvous/base/env_view.hpp"

#include <cerrno>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <initializer_list>
#include <linux/magic.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::launch {
namespace {

std::string read_small(char const* path) {
  UniqueFd const file{::open(path, O_RDONLY | O_CLOEXEC)};
  std::string text(4096, '\0');
  auto const got = ::read(file.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// Where cgroup v2 is mounted: alone, or beside v1 (systemd's hybrid form).
std::string mount_point() {
  for (char const* const path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs found {};
    if (::statfs(path, &found) == 0 && found.f_type == CGROUP2_SUPER_MAGIC) return path;
  }
  return {};
}

constexpr std::string_view kNameStart = "muster-";

// Leaves whose agent and guardian were killed together are empty, and nobody's.
void remove_stale(std::string const& parent) {
  std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir(parent.c_str()), ::closedir);
  if (!folder) return;
  while (dirent const* const entry = ::readdir(folder.get())) {
    std::string_view const name = entry->d_name;
    if (!name.starts_with(kNameStart)) continue;
    auto const rest = name.substr(kNameStart.size());
    auto const pid = parse_int(rest.substr(0, rest.find('.')));
    if (!pid || *pid <= 0 || ::kill(static_cast<pid_t>(*pid), 0) == 0 || errno != ESRCH) continue;
    ::rmdir((parent + "/" + entry->d_name).c_str());  // fails if somebody is in it
  }
}

// Runs in the parent's memory, on a stack of its own: see start_clone.hpp.
[[noreturn]] __attribute__((no_sanitize("address", "thread", "undefined"))) int end_at_once(void*) {
  ::_exit(0);
}

}  // namespace

std::optional<std::string> own_cgroup(std::string_view proc_self_cgroup) {
  auto at = proc_self_cgroup.find("0::");
  while (at != std::string_view::npos && at != 0 && proc_self_cgroup[at - 1] != '\n')
    at = proc_self_cgroup.find("0::", at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  auto path = proc_self_cgroup.substr(at + 3);
  path = path.substr(0, path.find('\n'));
  // "/.." stands for what is above our cgroup namespace.
  if (path.empty() || path.front() != '/' || path.substr(0, 3) == "/..") return std::nullopt;
  return std::string(path == "/" ? "" : path);
}

std::optional<CgroupLeaf> CgroupLeaf::make(int number) {
  auto const mount = mount_point();
  auto const own = own_cgroup(read_small("/proc/self/cgroup"));
  if (mount.empty() || !own) return std::nullopt;
  remove_stale(mount + *own);
  auto path = mount + *own + "/" + std::string(kNameStart) + std::to_string(::getpid()) + "." +
              std::to_string(number);
  if (::mkdir(path.c_str(), 0755) != 0) return std::nullopt;
  UniqueFd folder{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  CgroupLeaf leaf(std::move(path), std::move(folder));
  if (!leaf.folder_) return std::nullopt;
  return leaf;
}

CgroupLeaf::~CgroupLeaf() {
  if (!path_.empty() && folder_) ::rmdir(path_.c_str());
}

bool CgroupLeaf::lets_live() const {
  constexpr std::size_t kStackBytes = 16 * 1024;
  constexpr auto kByPidfd = static_cast<idtype_t>(3);  // P_PIDFD, absent from older headers
  auto const stack = std::make_unique<char[]>(kStackBytes);
  int pidfd = -1;
  StartClone const clone{end_at_once, nullptr, stack.get(), kStackBytes, folder()};
  if (start_clone(clone, pidfd) < 0) return true;  // nothing is known against it
  UniqueFd const owned{pidfd};
  siginfo_t found{};
  int done = 0;
  do {
    done = ::waitid(kByPidfd, static_cast<id_t>(pidfd), &found, WEXITED);
  } while (done != 0 && errno == EINTR);
  return done != 0 || found.si_code == CLD_EXITED;
}

void CgroupLeaf::kill() {
  spent_ = true;
  UniqueFd const file{::openat(folder_.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC)};
  if (file && ::write(file.get(), "1", 1) < 0) return;  // older kernels: the sweep does it
}

}  // namespace muster::launch
