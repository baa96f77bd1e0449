// SPDX-License-Identifier: Apache-2.0
// The kernel's header, whose tcp_info has the byte counts that the C library's lacks; the two
// cannot be included together.
#include "rendezvous/bench/socket_traffic.hpp"

#include <linux/in.h>
#include <linux/tcp.h>
#include <sys/socket.h>

namespace muster::bench {

std::uint64_t bytes_over(int descriptor) {
  tcp_info counted{};
  auto length = static_cast<socklen_t>(sizeof counted);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &counted, &length) != 0) return 0;
  return counted.tcpi_bytes_acked + counted.tcpi_bytes_received;
}

}  // namespace muster::bench
