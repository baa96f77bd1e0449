// SPDX-License-Identifier: Apache-2.0
#include "launcher/environment/machine.hpp"

#include "rendezvous/base/env_contract.hpp"

#include <algorithm>
#include <sched.h>
#include <unistd.h>

namespace muster::launch {
namespace {

constexpr int kMaxCpus = 8192;  // the kernel's own largest NR_CPUS

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  std::vector<cpu_set_t> set(kMaxCpus / CPU_SETSIZE);
  auto const bytes = set.size() * sizeof(cpu_set_t);
  if (::sched_getaffinity(0, bytes, set.data()) != 0) return cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu)
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set.data())) cpus.push_back(cpu);
  return cpus;
}

// "200000 100000" (cpu.max), or "max 100000": cores, 0 if unlimited.
double quota_of(std::string const& text) {
  auto const space = text.find(' ');
  if (space == std::string::npos) return 0;
  auto const quota = parse_int(text.substr(0, space));
  auto const period = parse_int(text.substr(space + 1, text.find('\n') - space - 1));
  if (!quota || !period || *period <= 0 || *quota <= 0) return 0;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

double smaller_limit(double a, double b) {
  if (a <= 0) return b;
  return b <= 0 ? a : std::min(a, b);
}

double quota_v1(FileSystem const& files) {
  std::string const folder = "/sys/fs/cgroup/cpu/";
  auto const quota = files.read(folder + "cpu.cfs_quota_us");
  auto const period = files.read(folder + "cpu.cfs_period_us");
  if (!quota || !period) return 0;
  return quota_of(quota->substr(0, quota->find('\n')) + " " + *period);
}

}  // namespace

Machine probe_machine(EnvView const& env, FileSystem const& files, bool wants_gpus) {
  Machine machine;
  machine.cpus_online = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  machine.cpus_allowed = allowed_cpus();
  machine.cpu_quota = cgroup_cpu_quota(files);
  if (wants_gpus) machine.gpus = visible_gpus(probe_gpus(files), env.get(env::kCudaVisibleDevices));
  return machine;
}

double cgroup_cpu_quota(FileSystem const& files) {
  auto const membership = files.read("/proc/self/cgroup");
  if (!membership) return 0;
  auto const line = membership->find("0::/");
  if (line == std::string::npos) return quota_v1(files);
  auto const begin = line + 3;
  auto group = membership->substr(begin, membership->find('\n', begin) - begin);
  double limit = 0;
  // Inside a container the path may be one of the host's, which is not mounted: the root always is.
  for (;;) {
    auto const folder = "/sys/fs/cgroup" + (group == "/" ? std::string() : group);
    if (auto const text = files.read(folder + "/cpu.max"))
      limit = smaller_limit(limit, quota_of(*text));
    if (group == "/" || group.empty()) break;
    group.resize(group.rfind('/'));
    if (group.empty()) group = "/";
  }
  return limit > 0 ? limit : quota_v1(files);
}

}  // namespace muster::launch
