// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/net/bounds.hpp"

#include "rendezvous/base/limits.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace muster::net {
namespace {

constexpr std::size_t kMostNewcomers = 16'384;  // at 3 KiB each
constexpr std::size_t kUsualOpenFiles = 1'024;

}  // namespace

Bounds bounds_of(std::size_t open_files) {
  Bounds bounds;
  bounds.lobby.in_all = std::clamp<std::size_t>(open_files / 2, 16, kMostNewcomers);
  bounds.lobby.from_one_address = std::max<std::size_t>(bounds.lobby.in_all / 4, 8);
  bounds.lobby.patience = limits::kGreetingDeadline;
  bounds.requests.in_all = limits::kMaxHalfRequestBytes;
  bounds.requests.patience = limits::kGreetingDeadline;
  bounds.clients = std::max<std::size_t>(open_files / 4 * 3, 16);
  return bounds;
}

Bounds bounds_of_this_process() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return bounds_of(kUsualOpenFiles);
  return bounds_of(static_cast<std::size_t>(limit.rlim_cur));
}

}  // namespace muster::net
