// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>

namespace muster {

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return from_errno(errno, "pipe2");
  return Pipe{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

}  // namespace muster
